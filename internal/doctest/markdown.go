package doctest

import (
	"fmt"
	"slices"
	"strings"
)

// block is a piece of shell in a page.
type block struct {
	line     int // of its first command, counted from 1
	text     string
	checkout bool
	skip     string   // why it is not run, empty when it is
	output   []string // lines to come in the output
}

// fence is a fenced code block of any language.
type fence struct {
	line int // of the opening fence
	info string
	text []string
	end  int // line of the closing fence
}

// unrunnable are other names by which shell commands go in Markdown.
var unrunnable = []string{"bash", "shell", "console", "zsh", "terminal", "shell-session"}

// parse returns the blocks of a page.
func parse(page string) ([]block, error) {
	fences, err := findFences(page)
	if err != nil {
		return nil, err
	}
	var blocks []block
	for i, f := range fences {
		words := strings.Fields(f.info)
		if len(words) > 0 && slices.Contains(unrunnable, words[0]) {
			return nil, fmt.Errorf("line %d: commands in the language %s are not run: write sh", f.line, words[0])
		}
		if len(words) == 0 || words[0] != "sh" {
			continue
		}
		b := block{line: f.line + 1, text: strings.Join(f.text, "\n") + "\n"}
		if err := b.setOptions(words[1:]); err != nil {
			return nil, fmt.Errorf("line %d: %w", f.line, err)
		}
		if i+1 < len(fences) && fences[i+1].info == "output" && fences[i+1].line <= f.end+2 {
			b.output = fences[i+1].text
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// quote is a piece of Go in a page that stands in a file of the source tree.
type quote struct {
	line int
	file string
	text string
}

// quotes returns the Go blocks of a page; each must name its file.
func quotes(page string) (found []quote, err error) {
	fences, err := findFences(page)
	if err != nil {
		return nil, err
	}
	for _, f := range fences {
		words := strings.Fields(f.info)
		if len(words) == 0 || words[0] != "go" {
			continue
		}
		if len(words) != 2 {
			return nil, fmt.Errorf("line %d: a block of Go names the file that it stands in", f.line)
		}
		found = append(found, quote{f.line, words[1], strings.Join(f.text, "\n")})
	}
	return found, nil
}

// in reports whether the lines of the quote follow each other in a source
// text, whatever their indentation.
func (q quote) in(source string) bool {
	return strings.Contains("\n"+unindent(source), "\n"+unindent(q.text))
}

func unindent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

func (b *block) setOptions(words []string) error {
	if len(words) == 0 {
		return nil
	}
	switch {
	case words[0] == "checkout" && len(words) == 1:
		b.checkout = true
	case words[0] == "no-run" && len(words) > 1:
		b.skip = strings.Join(words[1:], " ")
	case words[0] == "no-run":
		return fmt.Errorf("no-run needs a reason")
	default:
		return fmt.Errorf("unknown option %q of a block", strings.Join(words, " "))
	}
	return nil
}

// findFences finds the blocks between lines of three or more backquotes; the
// closing line has at least as many as the opening one.
func findFences(page string) (found []fence, err error) {
	var open *fence
	ticks := 0
	for i, line := range strings.Split(page, "\n") {
		trimmed := strings.TrimSpace(line)
		n := len(trimmed) - len(strings.TrimLeft(trimmed, "`"))
		switch {
		case open == nil && n >= 3:
			open, ticks = &fence{line: i + 1, info: strings.TrimSpace(trimmed[n:])}, n
		case open != nil && n >= ticks && n == len(trimmed):
			open.end = i + 1
			found = append(found, *open)
			open = nil
		case open != nil:
			open.text = append(open.text, line)
		}
	}
	if open != nil {
		return nil, fmt.Errorf("line %d: the code block does not end", open.line)
	}
	return found, nil
}

// missing returns the first expected line that does not come in the output in
// its order, and whether there is one.
func missing(output string, expected []string) (string, bool) {
	lines := strings.Split(output, "\n")
	for _, want := range expected {
		if strings.TrimSpace(want) == "" {
			continue
		}
		at := slices.IndexFunc(lines, func(line string) bool { return matches(line, want) })
		if at < 0 {
			return want, true
		}
		lines = lines[at+1:]
	}
	return "", false
}

// matches compares a line with a pattern in which … stands for any text.
func matches(line, pattern string) bool {
	parts := strings.Split(strings.TrimSpace(pattern), "…")
	line = strings.TrimSpace(line)
	rest, ok := strings.CutPrefix(line, parts[0])
	if !ok || len(parts) == 1 {
		return ok && rest == ""
	}
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}
