package markdown

import (
	"strings"

	"github.com/yuin/goldmark/text"

	"dsh/internal/termtext"
)

const (
	minColumn = 8    // columns of a cell below which a table is drawn as records
	between   = "  " // columns of a table
)

// table draws a table with aligned columns, as wide as its text. Where that is too
// wide, the widest columns are wrapped, and where that would leave too little, each row
// becomes a record of "head: value" lines.
func (p painter) table(t *table, width int) []string {
	grid := p.grid(t)
	columns := len(grid[0])
	widths := make([]int, columns)
	for _, row := range grid {
		for i, cell := range row {
			for line := range strings.SplitSeq(cell, "\n") {
				widths[i] = max(widths[i], termtext.Width(line))
			}
		}
	}
	if !shrink(widths, width-len(between)*(columns-1)) {
		return p.records(grid, width)
	}
	rows := gridRow(grid[0], widths, t.align)
	if rows != nil {
		rules := make([]string, columns)
		for i, w := range widths {
			rules[i] = p.theme.Faint.on(strings.Repeat("-", w))
		}
		rows = append(rows, gridRow(rules, widths, nil)...)
	}
	for _, row := range grid[1:] {
		rows = append(rows, gridRow(row, widths, t.align)...)
	}
	return rows
}

// grid draws the cells. All rows get as many as the longest has.
func (p painter) grid(t *table) [][]string {
	columns := 0
	for _, row := range t.rows {
		columns = max(columns, len(row))
	}
	grid := make([][]string, len(t.rows))
	for i, row := range t.rows {
		style := Style("")
		if i == 0 {
			style = p.theme.Heading
		}
		grid[i] = make([]string, columns)
		for j, src := range row {
			cell := painter{theme: p.theme, src: []byte(src)}
			if doc := cellParser().Parse(text.NewReader(cell.src)); doc.FirstChild() != nil {
				grid[i][j] = cell.inline(doc.FirstChild(), style)
			}
		}
	}
	return grid
}

// shrink makes the widest columns narrower until all fit into room. It reports whether
// they can, each keeping minColumn if it had as much.
func shrink(widths []int, room int) bool {
	total := 0
	for _, w := range widths {
		total += w
	}
	if total <= room {
		return true
	}
	limit := minColumn
	if sum(widths, limit) > room {
		return false
	}
	for sum(widths, limit+1) <= room {
		limit++
	}
	rest := room - sum(widths, limit)
	for i := range widths {
		if widths[i] > limit {
			widths[i] = limit
			if rest > 0 {
				widths[i]++
				rest--
			}
		}
	}
	return true
}

func sum(widths []int, limit int) int {
	n := 0
	for _, w := range widths {
		n += min(w, limit)
	}
	return n
}

// gridRow draws one row of cells, which may take several rows of the screen, or none
// if the cells are empty.
func gridRow(cells []string, widths []int, aligns []align) []string {
	if strings.Join(cells, "") == "" {
		return nil
	}
	lines := make([][]string, len(cells))
	height := 1
	for i, cell := range cells {
		lines[i] = termtext.Wrap(cell, max(widths[i], 2))
		height = max(height, len(lines[i]))
	}
	rows := make([]string, height)
	for y := range rows {
		var b strings.Builder
		pad := 0 // written only before text, so that no row ends in spaces
		for i := range cells {
			line := ""
			if y < len(lines[i]) {
				line = lines[i][y]
			}
			free := max(widths[i]-termtext.Width(line), 0)
			before := 0
			if i < len(aligns) && aligns[i] == right {
				before = free
			} else if i < len(aligns) && aligns[i] == center {
				before = free / 2
			}
			if line != "" {
				b.WriteString(strings.Repeat(" ", pad+before))
				b.WriteString(line)
				pad = free - before + len(between)
			} else {
				pad += widths[i] + len(between)
			}
		}
		rows[y] = b.String()
	}
	return rows
}

// records draws each row as lines of "head: value".
func (p painter) records(grid [][]string, width int) []string {
	var rows []string
	for _, row := range grid[1:] {
		if len(rows) > 0 && strings.Join(row, "") != "" {
			rows = append(rows, "")
		}
		for i, cell := range row {
			name := strings.ReplaceAll(grid[0][i], "\n", " ")
			switch {
			case cell == "" && name == "":
				continue
			case name != "":
				cell = strings.TrimRight(name+": "+cell, " ")
			}
			rows = append(rows, termtext.Wrap(cell, width)...)
		}
	}
	if len(grid) == 1 {
		rows = termtext.Wrap(strings.Join(grid[0], between), width)
	}
	return rows
}
