package termtext

import (
	"fmt"
	"strings"
)

// Amount is a number in at most four characters: 812, 1.9k, 64k, 1M.
func Amount(n int) string {
	switch {
	case n >= 1_000_000:
		return strings.Replace(fmt.Sprintf("%.1fM", float64(n)/1e6), ".0M", "M", 1)
	case n >= 10_000:
		return fmt.Sprintf("%dk", n/1000)
	case n >= 1000:
		return strings.Replace(fmt.Sprintf("%.1fk", float64(n)/1e3), ".0k", "k", 1)
	}
	return fmt.Sprint(n)
}
