package files

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
)

// Pattern is what a search looks for within lines: an RE2 expression. It is immutable.
type Pattern struct {
	prog    *syntax.Prog
	literal *literal // stands in every line that matches; nil if none is known
	exact   bool     // and every line with it matches
}

// NewPattern reads an expression. It never matches over the end of a line, "^" and "$"
// are those of lines, and a CR at the end is not a part of one. The error says what to
// write instead where that is known.
func NewPattern(expr string, ignoreCase bool) (*Pattern, error) {
	flags := syntax.Perl &^ syntax.OneLine
	if ignoreCase {
		flags |= syntax.FoldCase
	}
	re, err := syntax.Parse(expr, flags)
	if err != nil {
		return nil, explain(expr, err)
	}
	if re, err = withinLine(re); err != nil {
		return nil, err
	}
	p := &Pattern{}
	if text, fold, exact := required(re); text != "" {
		p.literal, p.exact = newLiteral(text, fold), exact && !fold
	}
	if p.prog, err = syntax.Compile(re.Simplify()); err != nil {
		return nil, fmt.Errorf("the pattern %q cannot be used: %w", expr, err)
	}
	return p, nil
}

// explain says what is wrong with an expression, and how it may have been meant.
func explain(expr string, err error) error {
	var bad *syntax.Error
	if !errors.As(err, &bad) {
		return fmt.Errorf("the pattern %q cannot be used: %w", expr, err)
	}
	hint := ""
	switch {
	case strings.HasPrefix(bad.Expr, "(?=") || strings.HasPrefix(bad.Expr, "(?!") || strings.HasPrefix(bad.Expr, "(?<"):
		hint = ": look-arounds are not supported; search for the text itself, and sort out what came"
	case bad.Code == syntax.ErrInvalidEscape && len(bad.Expr) > 1 && bad.Expr[1] >= '1' && bad.Expr[1] <= '9':
		hint = ": back-references are not supported; write the text out, or search for the first part"
	case bad.Code == syntax.ErrInvalidPerlOp:
		hint = ": only groups (?:...), (?P<name>...) and flags such as (?i) are supported"
	case bad.Code == syntax.ErrMissingParen, bad.Code == syntax.ErrUnexpectedParen, bad.Code == syntax.ErrMissingBracket,
		bad.Code == syntax.ErrMissingRepeatArgument, bad.Code == syntax.ErrTrailingBackslash:
		hint = `: to search for such a character itself, put \ before it`
	}
	return fmt.Errorf("the pattern %q is not a regular expression (RE2): %s at %q%s", expr, bad.Code, bad.Expr, hint)
}

// withinLine makes an expression one that matches within a line.
func withinLine(re *syntax.Regexp) (*syntax.Regexp, error) {
	for i, sub := range re.Sub {
		sub, err := withinLine(sub)
		if err != nil {
			return nil, err
		}
		re.Sub[i] = sub
	}
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r == '\n' {
				return nil, errors.New(`the pattern holds a line break (\n): a search is within lines; look for one of the lines, with context`)
			}
		}
	case syntax.OpCharClass:
		re.Rune = without(re.Rune, '\n')
	case syntax.OpAnyChar:
		re.Op = syntax.OpAnyCharNotNL
	case syntax.OpBeginText:
		re.Op = syntax.OpBeginLine
	case syntax.OpEndText, syntax.OpEndLine:
		cr := &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune{'\r'}}
		maybe := &syntax.Regexp{Op: syntax.OpQuest, Sub: []*syntax.Regexp{cr}}
		return &syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{maybe, {Op: syntax.OpEndLine}}}, nil
	}
	return re, nil
}

// without takes one character out of the ranges of a class.
func without(ranges []rune, r rune) []rune {
	var out []rune
	for i := 0; i+1 < len(ranges); i += 2 {
		lo, hi := ranges[i], ranges[i+1]
		if r < lo || r > hi {
			out = append(out, lo, hi)
			continue
		}
		if lo < r {
			out = append(out, lo, r-1)
		}
		if r < hi {
			out = append(out, r+1, hi)
		}
	}
	return out
}
