package termtext

import "strings"

const reset = "\x1b[0m"

// pen is the style in force at a place of a text: one parameter of an SGR sequence for
// each property that is not at its default.
type pen [len(penOff)]string

// penOff gives, for each property, the parameters that end it.
var penOff = [...]string{"22", "23", "24", "25", "27", "28", "29", "39", "49", "55", "59"}

const (
	penWeight = iota
	penItalic
	penUnderline
	penBlink
	penReverse
	penConceal
	penStrike
	penFore
	penBack
	penOver
	penUnderColor
)

// sequence is the one that sets the pen in a terminal at its defaults, "" if the pen
// is at its own.
func (p *pen) sequence() string {
	n := 0
	for _, v := range p {
		n += len(v)
	}
	if n == 0 {
		return ""
	}
	b := make([]byte, 0, n+len(p)+3)
	b = append(b, "\x1b["...)
	for _, v := range p {
		if v != "" {
			b = append(append(b, v...), ';')
		}
	}
	b[len(b)-1] = 'm'
	return string(b)
}

// apply follows an escape sequence. Only CSI ... m changes the pen.
func (p *pen) apply(seq string) {
	params, ok := strings.CutPrefix(seq, "\x1b[")
	if !ok || !strings.HasSuffix(params, "m") {
		return
	}
	params = params[:len(params)-1]
	if params == "" || params == "0" {
		*p = pen{}
		return
	}
	if strings.TrimLeft(params, "0123456789;:") != "" {
		return // private, not a style
	}
	for params != "" {
		var one string
		one, params = sgrParam(params)
		p.set(one)
	}
}

// sgrParam takes the first parameter, and for an extended colour its components.
func sgrParam(params string) (one, rest string) {
	one, rest, _ = strings.Cut(params, ";")
	if one != "38" && one != "48" && one != "58" {
		return one, rest
	}
	more := 0
	switch kind, _, _ := strings.Cut(rest, ";"); kind {
	case "5":
		more = 2
	case "2":
		more = 4
	}
	for ; more > 0 && rest != ""; more-- {
		var v string
		v, rest, _ = strings.Cut(rest, ";")
		one += ";" + v
	}
	return one, rest
}

func (p *pen) set(v string) {
	code, _, _ := strings.Cut(v, ";")
	code, _, _ = strings.Cut(code, ":")
	for i, off := range penOff {
		if code == off {
			p[i] = ""
			return
		}
	}
	switch {
	case code == "" || code == "0" || code == "00":
		*p = pen{}
	case code == "1" || code == "2":
		p[penWeight] = v
	case code == "3":
		p[penItalic] = v
	case code == "4" || code == "21":
		p[penUnderline] = v
	case code == "5" || code == "6":
		p[penBlink] = v
	case code == "7":
		p[penReverse] = v
	case code == "8":
		p[penConceal] = v
	case code == "9":
		p[penStrike] = v
	case code == "53":
		p[penOver] = v
	case code == "58":
		p[penUnderColor] = v
	case len(code) == 2 && code[0] == '3' || len(code) == 2 && code[0] == '9':
		p[penFore] = v
	case len(code) == 2 && code[0] == '4' || len(code) == 3 && code[:2] == "10":
		p[penBack] = v
	}
}
