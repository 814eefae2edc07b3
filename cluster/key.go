package cluster

import "strings"

const (
	maxKey   = 255
	maxValue = 256 << 10 // bytes
)

// The first parts of keys that the package uses itself.
const (
	membersKey  = "_members"
	barriersKey = "_barriers"
)

// checkKey returns what is wrong with a key: words of letters, digits, '-',
// '_', '/' and '=' with single dots between them.
func checkKey(key string) error {
	switch {
	case key == "":
		return &KeyError{key, "is empty"}
	case len(key) > maxKey:
		return &KeyError{key[:32] + "…", "is longer than 255 bytes"}
	case key[0] == '_':
		return &KeyError{key, "begins with '_', which is reserved"}
	}
	return checkWords(key)
}

func checkWords(key string) error {
	if len(key) > maxKey {
		return &KeyError{key[:32] + "…", "is longer than 255 bytes"}
	}
	for word := range strings.SplitSeq(key, ".") {
		if word == "" {
			return &KeyError{key, "has an empty word"}
		}
		for _, c := range []byte(word) {
			letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
			if !letter && !strings.ContainsRune("-_/=", rune(c)) {
				return &KeyError{key, "has characters other than letters, digits, '-', '_', '/', '=' and '.'"}
			}
		}
	}
	return nil
}
