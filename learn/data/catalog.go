package data

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// published describes a data set that is known by name.
type published struct {
	name    string
	about   string
	classes []string
	debian  string   // Debian package that installs it, if any
	folder  string   // where that package puts it
	bases   []string // addresses that serve the files, the official one first
	files   []publishedFile
}

// publishedFile is one file as its makers publish it.
type publishedFile struct {
	name   string
	size   int64
	sha256 string
}

var fashionClasses = []string{"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"}

// DefaultName is the data set that needs no file: the embedded extract of Fashion-MNIST.
const DefaultName = "fashion-mnist-mini"

// catalog holds the known data sets, the default first.
var catalog = []published{
	{
		name:    DefaultName,
		about:   "extract of Fashion-MNIST: 10,000 training and 2,000 test images of clothes, 28×28 grey, 10 classes",
		classes: fashionClasses,
	},
	{
		name:    "fashion-mnist",
		about:   "70,000 images of clothes, 28×28 grey, 10 classes (Zalando SE, MIT licence)",
		classes: fashionClasses,
		debian:  "dataset-fashion-mnist",
		folder:  "/usr/share/datasets/fashion-mnist",
		bases: []string{
			"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
			"https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
		},
		files: []publishedFile{
			{trainImages + ".gz", 26_421_880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"},
			{trainLabels + ".gz", 29_515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"},
			{testImages + ".gz", 4_422_102, "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"},
			{testLabels + ".gz", 5_148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"},
		},
	},
	{
		name:    "mnist",
		about:   "70,000 images of handwritten digits, 28×28 grey, 10 classes (LeCun, Cortes and Burges)",
		classes: numberNames(10),
		bases: []string{
			"https://ossci-datasets.s3.amazonaws.com/mnist/",
			"https://storage.googleapis.com/cvdf-datasets/mnist/",
		},
		files: []publishedFile{
			{trainImages + ".gz", 9_912_422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"},
			{trainLabels + ".gz", 28_881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"},
			{testImages + ".gz", 1_648_877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"},
			{testLabels + ".gz", 4_542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"},
		},
	},
}

// lookup finds a known data set; nil when the name is not known.
func lookup(name string) *published {
	for i := range catalog {
		if catalog[i].name == name {
			return &catalog[i]
		}
	}
	return nil
}

// Names lists the known data sets, the default first.
func Names() []string {
	names := make([]string, len(catalog))
	for i, p := range catalog {
		names[i] = p.name
	}
	return names
}

// Known is what is known of a data set before it is read.
type Known struct {
	Name  string `json:"name"`
	About string `json:"about"`
	// Origin is where it was found; empty when it is not on this machine.
	Origin string `json:"origin,omitempty"`
	// Advice tells how to get it; empty when it was found.
	Advice string `json:"advice,omitempty"`
}

// List describes the known data sets and where each was found.
func List() []Known {
	var out []Known
	for i := range catalog {
		p := &catalog[i]
		k := Known{Name: p.name, About: p.about}
		switch {
		case p.embedded():
			k.Origin = "embedded in the program"
		default:
			if k.Origin = p.find(); k.Origin == "" {
				k.Advice = p.advice()
			}
		}
		out = append(out, k)
	}
	return out
}

func (p *published) embedded() bool { return len(p.files) == 0 }

// open reads the data set from where it is found.
func (p *published) open(opt Options) (*Set, error) {
	if p.embedded() {
		return openExtract(opt)
	}
	dir := p.find()
	if dir == "" {
		looked := ""
		if places := p.places(); len(places) > 0 {
			looked = " (looked in " + strings.Join(places, ", ") + ")"
		}
		return nil, wrongFile(p.name, "not found on this machine%s; %s", looked, p.advice())
	}
	set, err := openFour(os.DirFS(dir), filepath.ToSlash(dir), p.classes, opt)
	if err != nil {
		return nil, err
	}
	set.Origin = dir
	return set, nil
}

// find gives the first place that holds all files; "" when none does.
func (p *published) find() string {
	for _, dir := range p.places() {
		if hasFour(os.DirFS(dir)) {
			return dir
		}
	}
	return ""
}

// places lists where the files may be, the user's own choice first.
func (p *published) places() []string {
	var dirs []string
	if root := os.Getenv("MILLRACE_DATA"); root != "" {
		dirs = append(dirs, filepath.Join(root, p.name))
	}
	if p.folder != "" {
		dirs = append(dirs, p.folder)
	}
	if cache, err := CacheDir(p.name); err == nil {
		dirs = append(dirs, cache)
	}
	return dirs
}

// CacheDir is the folder in the user's cache into which a known data set is fetched.
func CacheDir(name string) (string, error) {
	root, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no folder to keep %s in: %w; set it, or put the files into $MILLRACE_DATA/%s", name, err, name)
	}
	return filepath.Join(root, "millrace", "data", name), nil
}

// advice tells how to get a data set that is not on this machine.
func (p *published) advice() string {
	return "run `millrace data fetch " + p.name + "`, or " + p.offline()
}

// offline tells how to get a data set without reaching its addresses.
func (p *published) offline() string {
	var ways []string
	if p.debian != "" {
		ways = append(ways, "install Debian's package "+p.debian)
	}
	ways = append(ways, "put its files into $MILLRACE_DATA/"+p.name, "use "+DefaultName+", which needs no file")
	return strings.Join(ways, ", or ")
}
