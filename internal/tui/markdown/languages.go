package markdown

import "strings"

// language is what the highlighter must know of one.
type language struct {
	words   string    // keywords, a space around each
	comment []string  // begin a comment to the end of the line
	block   [2]string // begin and end a comment
	quotes  string    // enclose a string in a line
	long    []string  // enclose a string over lines
	joins   string    // what words may hold beside letters and digits
	fold    bool      // keywords in any case
	diff    bool
}

func (l *language) isKeyword(w string) bool {
	if l.fold {
		w = strings.ToLower(w)
	}
	return strings.Contains(l.words, " "+w+" ")
}

var (
	slashes = []string{"//"}
	hash    = []string{"#"}
	stars   = [2]string{"/*", "*/"}
)

var (
	golang = &language{comment: slashes, block: stars, quotes: `"'`, long: []string{"`"},
		words: " break case chan const continue default defer else fallthrough false for func go goto if import interface iota map nil package range return select struct switch true type var "}
	python = &language{comment: hash, quotes: `"'`, long: []string{`"""`, `'''`},
		words: " False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield "}
	javascript = &language{comment: slashes, block: stars, quotes: `"'`, long: []string{"`"}, joins: "$",
		words: " abstract any as async await boolean break case catch class const continue debugger declare default delete do else enum export extends false finally for from function get if implements import in instanceof interface keyof let namespace new null number of private protected public readonly return set static string super switch this throw true try type typeof undefined var void while with yield "}
	rust = &language{comment: slashes, block: stars, quotes: `"`,
		words: " as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type union unsafe use where while "}
	clike = &language{comment: slashes, block: stars, quotes: `"'`,
		words: " abstract auto bool boolean break byte case catch char class const constexpr continue default delete do double else enum extends extern false final finally float for foreach fun goto if implements import in inline instanceof int interface internal is let long match namespace new null nullptr object operator override package private protected public readonly return sealed short signed sizeof static string struct super switch template this throw throws trait true try typedef typename uint union unsigned using val var virtual void volatile when where while yield "}
	shell = &language{comment: hash, quotes: `"'`, joins: "-",
		words: " case do done elif else esac exit export fi for function if in local return set then trap unset until while "}
	ruby = &language{comment: hash, quotes: `"'`, joins: "?!",
		words: " alias and begin break case class def do else elsif end ensure false for if in module next nil not or redo rescue retry return self super then true undef unless until when while yield "}
	lua = &language{comment: []string{"--"}, block: [2]string{"--[[", "]]"}, quotes: `"'`,
		words: " and break do else elseif end false for function if in local nil not or repeat return then true until while "}
	sql = &language{comment: []string{"--"}, block: stars, quotes: `'"`, fold: true,
		words: " add all alter and as asc between by case check column constraint create default delete desc distinct drop else end exists foreign from full group having if in index inner insert into is join key left like limit not null on or order outer primary references right select set table then union unique update using values view when where with "}
	data = &language{comment: hash, quotes: `"'`, joins: "-",
		words: " true false null yes no on off "}
	json   = &language{comment: slashes, block: stars, quotes: `"`, words: " true false null "}
	ini    = &language{comment: []string{"#", ";"}, quotes: `"`, words: " true false "}
	markup = &language{block: [2]string{"<!--", "-->"}, quotes: `"`}
	css    = &language{block: stars, quotes: `"'`, joins: "-", words: " important inherit initial none auto "}
	docker = &language{comment: hash, quotes: `"'`,
		words: " ADD ARG AS CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL RUN SHELL USER VOLUME WORKDIR "}
	making = &language{comment: hash, quotes: `"'`, joins: "-",
		words: " define else endef endif export ifdef ifeq ifndef ifneq include override "}
	diff = &language{diff: true}
)

// languages by name, alias and extension.
var languages = map[string]*language{
	"go": golang, "golang": golang,
	"python": python, "py": python, "python3": python, "starlark": python, "bzl": python,
	"javascript": javascript, "js": javascript, "jsx": javascript, "mjs": javascript, "typescript": javascript, "ts": javascript, "tsx": javascript, "vue": javascript, "svelte": javascript,
	"rust": rust, "rs": rust,
	"c": clike, "h": clike, "cpp": clike, "c++": clike, "cc": clike, "hpp": clike, "cxx": clike, "java": clike, "kotlin": clike, "kt": clike, "kts": clike, "csharp": clike, "cs": clike, "c#": clike,
	"scala": clike, "swift": clike, "dart": clike, "php": clike, "zig": clike, "objc": clike, "proto": clike, "protobuf": clike, "groovy": clike, "gradle": clike,
	"bash": shell, "sh": shell, "shell": shell, "zsh": shell, "console": shell, "fish": shell,
	"ruby": ruby, "rb": ruby, "elixir": ruby, "ex": ruby, "exs": ruby, "crystal": ruby,
	"lua": lua, "sql": sql, "postgresql": sql, "mysql": sql, "sqlite": sql,
	"yaml": data, "yml": data, "toml": data, "nix": data, "hcl": data, "tf": data, "terraform": data,
	"json": json, "jsonc": json, "json5": json, "jsonl": json,
	"ini": ini, "conf": ini, "cfg": ini, "properties": ini,
	"html": markup, "xml": markup, "svg": markup, "xhtml": markup,
	"css": css, "scss": css, "less": css,
	"dockerfile": docker, "docker": docker, "containerfile": docker,
	"makefile": making, "make": making, "mk": making,
	"diff": diff, "patch": diff,
}
