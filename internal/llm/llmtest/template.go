package llmtest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// maxRepeat bounds what {{repeat N S}} makes, in bytes.
const maxRepeat = 64 << 20

var template = regexp.MustCompile(`(?s)\{\{(?:(n|i|results)|repeat (\d+) (.+?))\}\}`)

// checkTemplate refuses what expand could not make.
func checkTemplate(text string) error {
	for _, m := range template.FindAllStringSubmatch(text, -1) {
		if m[1] != "" {
			continue
		}
		n, err := strconv.Atoi(m[2])
		if err != nil || n > maxRepeat/len(m[3]) {
			return fmt.Errorf("{{repeat %s ...}} makes more than %d bytes", m[2], maxRepeat)
		}
	}
	return nil
}

// expand fills the templates of a value for the i-th request that a reply serves.
func expand(text string, q *request, i int) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	return template.ReplaceAllStringFunc(text, func(hit string) string {
		m := template.FindStringSubmatch(hit)
		switch m[1] {
		case "n":
			return strconv.Itoa(q.number)
		case "i":
			return strconv.Itoa(i)
		case "results":
			return strconv.Itoa(q.results())
		}
		n, _ := strconv.Atoi(m[2]) // checked when the script was read
		return strings.Repeat(m[3], n)
	})
}
