package config

import "strings"

// isTable reports whether a table of that name can hold settings.
func isTable(name string) bool {
	if name == tableKeys || name == "provider" || strings.HasPrefix(name, "provider.") && strings.Count(name, ".") == 1 {
		return true
	}
	for _, k := range known() {
		if strings.HasPrefix(k, name+".") {
			return true
		}
	}
	return false
}

// known are the names of the settings, NAME standing for a provider's.
func known() []string {
	names := []string{keyFallback, keyAllow, keyDeny, keyDisabled, "provider.NAME.base_url", "provider.NAME.key_env"}
	for _, k := range keys {
		names = append(names, k.name)
	}
	return names
}

// suggest ends a message with the nearest setting, if one is near.
func suggest(name string) string {
	if parts := strings.Split(name, "."); len(parts) == 3 && parts[0] == "provider" {
		name = "provider.NAME." + parts[2]
	}
	return nearest(name, known())
}

func suggestTable(name string) string {
	return nearest(name, []string{"provider.NAME", "permissions", "retry", tableKeys})
}

func nearest(name string, names []string) string {
	best, least := "", len(name)/3+1 // a third of the letters may be wrong
	for _, k := range names {
		if d := distance(name, k); d <= least && (best == "" || d < least) {
			best, least = k, d
		}
		if _, last, ok := strings.Cut(k, "."); best == "" && ok && last == name {
			best = k // its table was forgotten
		}
	}
	if best == "" {
		return ": the settings are " + strings.Join(names, ", ")
	}
	return ": did you mean " + best + "?"
}

// distance is the number of letters to insert, delete or replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
