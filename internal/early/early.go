package early

import "os"

// Version is set by the linker for a release (-X dsh/internal/early.Version=...).
var Version = "0.2.0"

// terminal is the value of TERM that init took away.
var terminal, terminalSet = os.LookupEnv("TERM")

func init() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		_, err := os.Stdout.WriteString("dsh " + Version + "\n")
		if err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	_ = os.Setenv("TERM", "dumb") // fails for impossible names only
}

// Restore gives TERM back: main's first statement. Bubble Tea's init asks the terminal
// for its colours, in every command, and waits up to five seconds for the answer,
// unless TERM says that it is dumb.
func Restore() {
	if !terminalSet {
		_ = os.Unsetenv("TERM")
		return
	}
	_ = os.Setenv("TERM", terminal)
}
