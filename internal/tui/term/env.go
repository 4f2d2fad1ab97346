package term

import (
	"strconv"
	"strings"
)

// Env is what the environment says about the terminal. Nothing here was asked of the
// terminal itself.
type Env struct {
	// Dumb terminals get plain lines: no frames, no keys.
	Dumb bool
	// CI is a build machine: nobody looks at it while it runs.
	CI bool
	// Depth is how many colours to use: 0 under NO_COLOR.
	Depth Depth
	// Background is what COLORFGBG says, if it says anything.
	Background Background
	// UTF8 says whether the locale shows more than ASCII.
	UTF8 bool
	// SSH and Tmux change what is worth sending.
	SSH, Tmux bool
	// Reflows says whether the terminal wraps its rows anew when it gets narrower.
	Reflows bool
	// Chords says whether keys such as shift+enter may be asked for.
	Chords bool
	// Progress says whether OSC 9;4 is understood.
	Progress bool
	// Notice is the sequence that shows a notification here.
	Notice Notice
}

// Depth is the number of colours a terminal shows.
type Depth uint8

// The depths, from poor to rich.
const (
	NoColor Depth = iota
	Color16
	Color256
	TrueColor
)

// Background says whether a terminal is light or dark.
type Background uint8

// What is known of the background.
const (
	UnknownBackground Background = iota
	Dark
	Light
)

// Notice is a way to show a notification.
type Notice uint8

// The ways; a bell is rung in any case.
const (
	Bell Notice = iota
	OSC9
	OSC777
)

// Detect reads the environment. getenv is os.Getenv.
func Detect(getenv func(string) string) Env {
	term := getenv("TERM")
	multiplexed := getenv("TMUX") != "" || getenv("STY") != "" || getenv("ZELLIJ") != ""
	return Env{
		Dumb:       term == "" || term == "dumb",
		CI:         truthy(getenv("CI")),
		Depth:      depth(getenv, term),
		Background: colorFGBG(getenv("COLORFGBG")),
		UTF8:       utf8Locale(getenv) && term != "linux",
		SSH:        getenv("SSH_CONNECTION") != "" || getenv("SSH_TTY") != "",
		Tmux:       getenv("TMUX") != "",
		// These cut rows instead of wrapping them.
		Reflows: term != "linux" && getenv("STY") == "" && getenv("XTERM_VERSION") == "",
		// The Linux console takes "CSI > 4;1 m" for underlined text.
		Chords:   term != "linux",
		Progress: !multiplexed && showsProgress(getenv),
		Notice:   notice(getenv, multiplexed),
	}
}

func truthy(s string) bool { return s != "" && s != "0" && s != "false" }

func depth(getenv func(string) string, term string) Depth {
	colorterm := getenv("COLORTERM")
	switch {
	case getenv("NO_COLOR") != "" || term == "" || term == "dumb":
		return NoColor
	case strings.HasPrefix(term, "screen") && getenv("TMUX") == "":
		return Color256 // screen drops true colours
	case colorterm == "truecolor" || colorterm == "24bit" || strings.HasSuffix(term, "-direct") || getenv("WT_SESSION") != "":
		return TrueColor
	case strings.Contains(term, "kitty") || strings.Contains(term, "ghostty") || strings.Contains(term, "alacritty") || strings.Contains(term, "wezterm") || strings.HasPrefix(term, "foot"):
		return TrueColor
	case strings.Contains(term, "256color") || strings.HasPrefix(term, "tmux"):
		return Color256
	}
	return Color16
}

// colorFGBG reads "15;0" or "15;default;0": the last number is the background, and the
// first seven colours and bright black are dark.
func colorFGBG(s string) Background {
	n, err := strconv.Atoi(s[strings.LastIndexByte(s, ';')+1:])
	switch {
	case err != nil || n < 0 || n > 15:
		return UnknownBackground
	case n == 7 || n > 8:
		return Light
	}
	return Dark
}

func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}

// showsProgress names terminals that are known for it: others take OSC 9;4 for a
// notification that reads "4;3".
func showsProgress(getenv func(string) string) bool {
	switch getenv("TERM_PROGRAM") {
	case "ghostty", "WezTerm":
		return true
	}
	return getenv("WT_SESSION") != "" || getenv("ConEmuANSI") == "ON"
}

func notice(getenv func(string) string, multiplexed bool) Notice {
	if multiplexed {
		return Bell
	}
	switch getenv("TERM_PROGRAM") {
	case "iTerm.app", "WezTerm", "ghostty":
		return OSC9
	}
	switch term := getenv("TERM"); {
	case strings.Contains(term, "kitty"):
		return OSC9
	case strings.HasPrefix(term, "foot"), strings.HasPrefix(term, "rxvt"), getenv("VTE_VERSION") != "":
		return OSC777
	}
	return Bell
}
