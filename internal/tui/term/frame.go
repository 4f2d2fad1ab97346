package term

// Frame is what the terminal shows below the printed rows: the live region.
type Frame struct {
	// Rows are the live region from top to bottom. A row is one line of text with
	// SGR sequences (colours), at most as wide as the window; other sequences and
	// controls are dropped from it, and what is too wide is cut. Rows beyond the
	// window's height are dropped from the top.
	Rows []string
	// Cursor is where the terminal's own cursor stands.
	Cursor Cursor
	// Alt shows Rows on the alternate screen, as the whole window. Printed rows
	// wait until it is left.
	Alt bool
	// Mouse asks for clicks and the wheel. It takes selecting with the mouse from
	// the person, so it is meant for Alt.
	Mouse bool
}

// Cursor places the terminal's cursor in a frame, by cells from its top left cell.
type Cursor struct {
	Row, Col int
	Shape    Shape
	Hidden   bool
}

// Shape is the form of the cursor. The zero value is the person's own setting.
type Shape uint8

// The shapes that do not blink.
const (
	DefaultShape Shape = 0
	Block        Shape = 2
	Underline    Shape = 4
	Bar          Shape = 6
)

func (f Frame) same(g Frame) bool {
	if f.Cursor != g.Cursor || f.Alt != g.Alt || f.Mouse != g.Mouse || len(f.Rows) != len(g.Rows) {
		return false
	}
	for i, row := range f.Rows {
		if row != g.Rows[i] {
			return false
		}
	}
	return true
}
