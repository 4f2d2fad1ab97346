package early

import "os"

// Version is set by the linker for a release (-X dsh/internal/early.Version=...).
var Version = "0.2.0"

func init() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		_, err := os.Stdout.WriteString("dsh " + Version + "\n")
		if err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
}
