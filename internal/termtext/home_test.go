package termtext

import "testing"

func TestHome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, home, want string }{
		{"/home/u/a", "/home/u", "~/a"},
		{"/home/u", "/home/u", "~"},
		{"/home/user/a", "/home/u", "/home/user/a"},
		{"/srv", "/home/u", "/srv"},
		{"/srv", "", "/srv"},
	} {
		if got := Home(c.path, c.home); got != c.want {
			t.Errorf("%s under %q is %s, want %s", c.path, c.home, got, c.want)
		}
	}
}
