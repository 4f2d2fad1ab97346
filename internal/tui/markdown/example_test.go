package markdown_test

import (
	"fmt"
	"strings"

	"dsh/internal/tui/markdown"
)

func ExampleRenderer() {
	r := markdown.New(markdown.Options{Width: 30})
	for _, chunk := range []string{"The clock is re", "ad **twice**:\n\n```go\n", "a := time.Now()\nb := ti", "me.Now()\n``", "`\n"} {
		r.Append(chunk)
		fmt.Println(r.Settled(), "of", len(r.Rows()), "rows are final")
	}
	r.Finish()
	fmt.Println(strings.Join(r.Rows(), "\n"))
	// Output:
	// 0 of 1 rows are final
	// 3 of 3 rows are final
	// 4 of 5 rows are final
	// 5 of 5 rows are final
	// 6 of 6 rows are final
	// The clock is read **twice**:
	//
	// ```go
	// a := time.Now()
	// b := time.Now()
	// ```
}
