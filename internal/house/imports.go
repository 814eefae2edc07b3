package house

import (
	"fmt"
	"slices"
	"strings"
)

// module is the path that every package of this repository begins with.
const module = "millrace.dev"

// floor is a group of folders with the same rights.
type floor string

const (
	shared  floor = "shared"  // helpers of everybody
	ground  floor = "ground"  // what engines stand on
	engines floor = "engines" // what the product does
	top     floor = "top"     // what plugs them together
)

// floors gives each top-level folder with Go code its place in the house.
var floors = map[string]floor{
	"internal": shared,

	"control": ground, "mem": ground, "fabric": ground, "cluster": ground,

	"learn": engines, "group": engines, "feed": engines, "batch": engines, "stream": engines,
	"share": engines, "flick": engines, "emu": engines, "field": engines, "web": engines,

	"cmd": top,
}

// may says which floors a floor may import besides its own folder. An engine
// reaches another engine only through an interface that it defines itself, so
// it never imports one.
var may = map[floor][]floor{
	shared:  {shared},
	ground:  {shared, ground},
	engines: {shared, ground},
	top:     {shared, ground, engines},
}

// folder returns the top-level folder of a package of this module, and whether
// it is one.
func folder(path string) (string, bool) {
	rest, ours := strings.CutPrefix(path, module+"/")
	if !ours {
		return "", path == module
	}
	first, _, _ := strings.Cut(rest, "/")
	return first, true
}

// checkImport returns what is wrong with one import, nil if nothing is.
func checkImport(from, to string) error {
	toFolder, ours := folder(to)
	if !ours {
		return nil
	}
	fromFolder, _ := folder(from)
	if fromFolder == toFolder {
		return nil
	}
	fromFloor, known := floors[fromFolder]
	if !known {
		return fmt.Errorf("%s: the folder %q has no place in the house", from, fromFolder)
	}
	toFloor, known := floors[toFolder]
	if !known {
		return fmt.Errorf("%s imports %s: the folder %q has no place in the house", from, to, toFolder)
	}
	if !slices.Contains(may[fromFloor], toFloor) {
		return fmt.Errorf("%s imports %s: %s may not import %s", from, to, fromFloor, toFloor)
	}
	return nil
}

// cycle returns a path of folders that ends where it begins, nil if there is
// none. uses lists the folders that each folder imports.
func cycle(uses map[string][]string) []string {
	done := map[string]bool{}
	var visit func(path []string) []string
	visit = func(path []string) []string {
		at := path[len(path)-1]
		if first := slices.Index(path, at); first < len(path)-1 {
			return path[first:]
		}
		if done[at] {
			return nil
		}
		for _, next := range uses[at] {
			if found := visit(append(slices.Clone(path), next)); found != nil {
				return found
			}
		}
		done[at] = true
		return nil
	}
	for start := range uses {
		if found := visit([]string{start}); found != nil {
			return found
		}
	}
	return nil
}
