package policy

import (
	"slices"
	"strings"
)

// readers are the programs that change nothing, whatever their arguments.
var readers = words("ls pwd cat head tail wc stat whoami id uname du df nl cut tr cmp grep basename dirname realpath readlink which sha256sum echo true false")

// checked are those that change nothing with these arguments.
var checked = map[string]func(args []string) bool{
	"file": only(flags{exact: words("-b -i -L --brief --mime --mime-type --mime-encoding --dereference"), others: true}),
	// A bare argument sets the clock, unless it is a format.
	"date": only(flags{exact: words("-u -R -I --utc --universal --rfc-email --iso-8601"), open: words("+ -I --date= --rfc-3339= --iso-8601= --reference=")}),
	"sort": only(flags{exact: words("-b -d -f -n -g -h -i -M -r -R -u -V -c -C -s -z -nr -rn -k -t"), open: words("-k -t --key= --field-separator="), others: true}),
	"find": only(flags{exact: words("-name -iname -path -ipath -regex -iregex -type -maxdepth -mindepth -size -mtime -mmin -newer -empty -not -o -a -and -or -prune -print -print0 -L -H -P -xdev -user -perm -depth"), others: true}),
	"git":  readsGit,
}

// gitReaders are the subcommands that only read, with what they may be told. What
// git's own configuration makes it run (a diff driver, a filter) it runs here too:
// that configuration is protected from tools.
var gitReaders = map[string]func(args []string) bool{
	"status": only(flags{exact: words("-s --short -b --branch --porcelain -z --long --ignored --show-stash -u -uno -unormal -uall --untracked-files"),
		open: words("--porcelain= --untracked-files= --ignored="), others: true}),
	"log":  gitHistory,
	"show": gitHistory,
	"diff": gitHistory,
	// A bare argument makes a branch.
	"branch":    only(flags{exact: words("--show-current --list -a --all -r --remotes -v -vv --verbose")}),
	"remote":    only(flags{exact: words("-v --verbose")}),
	"ls-files":  only(flags{exact: words("-c -d -m -o -s -z --cached --deleted --modified --others --stage --exclude-standard"), others: true}),
	"rev-parse": only(flags{exact: words("--show-toplevel --abbrev-ref --short --verify --is-inside-work-tree --git-dir --show-prefix -q --quiet"), open: words("--short="), others: true}),
}

var gitHistory = only(flags{
	exact: words("-- -p -u --patch -s --no-patch --stat --shortstat --numstat --name-only --name-status --summary --oneline --graph --all --decorate --no-decorate " +
		"--cached --staged --abbrev-commit --follow --merges --no-merges --reverse --first-parent --no-color --no-ext-diff --no-textconv --check --quiet --exit-code " +
		"-w -b -n -M -C -S -G -i --ignore-all-space --ignore-space-change --word-diff --no-index --merge-base --branches --tags --remotes --relative-date"),
	open: words("-U -n -M -C -S -G -L -1 -2 -3 -4 -5 -6 -7 -8 -9 --stat= --unified= --format= --pretty= --date= --since= --after= --until= --before= --author= --committer= " +
		"--grep= --max-count= --skip= --diff-filter= --word-diff= --abbrev= --decorate="),
	others: true,
})

// ReadsOnly reports whether a command plainly changes nothing: one program of a
// short list, called with arguments that are known to be harmless, in words that
// the shell takes as they are. What is not plain is not said to be harmful.
func ReadsOnly(command string) bool {
	command = strings.Trim(command, blanks)
	if !plain(command) {
		return false
	}
	argv := plainWords(command)
	if len(argv) == 0 || slices.ContainsFunc(argv, special) {
		return false
	}
	if check := checked[argv[0]]; check != nil {
		return check(argv[1:])
	}
	return slices.Contains(readers, argv[0])
}

// readsOnly is the same of an action: where a command runs matters as well, for
// relative names lead from there.
func readsOnly(a Action) bool {
	return a.Class == Exec && !slices.ContainsFunc(a.Paths, specialDir) && ReadsOnly(a.Command)
}

func specialDir(dir string) bool { return dir == sep || special(dir) }

// special reports whether a word may be a path to what only looks like a file: a
// device, or the memory and environment of a process. What is called like the file of
// stored keys is none of the harmless either.
func special(word string) bool {
	if strings.Contains(word, "credentials.toml") {
		return true
	}
	if !strings.HasPrefix(word, "/") && !strings.HasPrefix(word, "-") && !strings.Contains(word, "=/") && !strings.Contains(word, "../") {
		return false // it cannot lead to the root
	}
	for name := range strings.FieldsFuncSeq(word, func(c rune) bool { return c == '/' || c == '=' }) {
		if name == "proc" || name == "dev" {
			return true
		}
	}
	return false
}

func readsGit(args []string) bool {
	if len(args) > 0 && args[0] == "--no-pager" {
		args = args[1:]
	}
	if len(args) == 0 {
		return false
	}
	signed := func(arg string) bool { return strings.Contains(arg, "%G") } // runs the program that checks signatures
	check := gitReaders[args[0]]
	return check != nil && check(args[1:]) && !slices.ContainsFunc(args, signed)
}

// flags are the arguments that a program may get: exactly these, those that begin
// so, and, if others, any that do not begin with a dash.
type flags struct {
	exact, open []string
	others      bool
}

func only(f flags) func(args []string) bool {
	return func(args []string) bool {
		for _, arg := range args {
			begins := func(with string) bool { return strings.HasPrefix(arg, with) }
			if !slices.Contains(f.exact, arg) && !slices.ContainsFunc(f.open, begins) && (!f.others || begins("-")) {
				return false
			}
		}
		return true
	}
}

// plainWords are the words of a plain command without their quotes.
func plainWords(command string) (argv []string) {
	var word strings.Builder
	var quote rune
	begun := false
	for _, c := range command {
		switch {
		case quote == 0 && c == ' ':
			if begun {
				argv = append(argv, word.String())
				word.Reset()
			}
			begun = false
			continue
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		default:
			word.WriteRune(c)
		}
		begun = true
	}
	if begun {
		argv = append(argv, word.String())
	}
	return argv
}

func words(s string) []string { return strings.Fields(s) }
