package data

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestReadCSV(t *testing.T) {
	for name, c := range map[string]struct {
		in, label        string
		columns, classes []string
		values           []float32
		labels           []int32
	}{
		"heading and names": {
			in:      "a,b,species\n1,2,rose\n3,4.5,iris\n5,6,rose\n",
			columns: []string{"a", "b"}, classes: []string{"iris", "rose"},
			values: []float32{1, 2, 3, 4.5, 5, 6}, labels: []int32{1, 0, 1},
		},
		"no heading": {
			in:      "1,2,rose\n3,4,iris\n",
			columns: []string{"1", "2"}, classes: []string{"iris", "rose"},
			values: []float32{1, 2, 3, 4}, labels: []int32{1, 0},
		},
		"class numbers": {
			in:      "1,2,2\n3,4,0\n5,6,1\n",
			columns: []string{"1", "2"}, classes: []string{"0", "1", "2"},
			values: []float32{1, 2, 3, 4, 5, 6}, labels: []int32{2, 0, 1},
		},
		"years": {
			in:      "a,label\n1,2022\n2,2020\n3,2021\n4,2020\n",
			columns: []string{"a"}, classes: []string{"2020", "2021", "2022"},
			values: []float32{1, 2, 3, 4}, labels: []int32{2, 0, 1, 0},
		},
		"one label far above the others": {
			in:      "a,label\n1,0\n3,1\n4,99999\n",
			columns: []string{"a"}, classes: []string{"0", "1", "99999"},
			values: []float32{1, 3, 4}, labels: []int32{0, 1, 2},
		},
		"negative numbers": {
			in:      "1,1\n2,-1\n",
			columns: []string{"1"}, classes: []string{"-1", "1"},
			values: []float32{1, 2}, labels: []int32{1, 0},
		},
		"whole numbers written as fractions": {
			in:      "1,10.0\n2,9.0\n",
			columns: []string{"1"}, classes: []string{"9.0", "10.0"},
			values: []float32{1, 2}, labels: []int32{1, 0},
		},
		"fractions among names": {
			in:      "a,label\n1,1.5\n2,beta\n",
			columns: []string{"a"}, classes: []string{"1.5", "beta"},
			values: []float32{1, 2}, labels: []int32{0, 1},
		},
		"decimal commas among names": {
			in:      "a;label\n1;1,5\n2;beta\n",
			columns: []string{"a"}, classes: []string{"1,5", "beta"},
			values: []float32{1, 2}, labels: []int32{0, 1},
		},
		"numbers that are names": {
			in:      "1,007\n3,7\n",
			columns: []string{"1"}, classes: []string{"007", "7"},
			values: []float32{1, 3}, labels: []int32{0, 1},
		},
		"mark, semicolons, spaces, CRLF": {
			in:      "\ufeffLabel; x ;y\r\nu; 1 ;-2e3\r\nv;\"3\";4\r\n",
			columns: []string{"x ", "y"}, classes: []string{"u", "v"},
			values: []float32{1, -2000, 3, 4}, labels: []int32{0, 1},
		},
		"tabs, no last line end": {
			in: "1\t2\t0\n3\t4\t1", columns: []string{"1", "2"}, classes: []string{"0", "1"},
			values: []float32{1, 2, 3, 4}, labels: []int32{0, 1},
		},
		"label by heading": {
			in: "kind,x\n0,5\n1,6\n", label: "kind", columns: []string{"x"}, classes: []string{"0", "1"},
			values: []float32{5, 6}, labels: []int32{0, 1},
		},
		"label by number": {
			in: "0,5\n1,6\n", label: "1", columns: []string{"2"}, classes: []string{"0", "1"},
			values: []float32{5, 6}, labels: []int32{0, 1},
		},
	} {
		got, err := ReadCSV(strings.NewReader(c.in), "t.csv", c.label, 0)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.Equal(got.Columns, c.columns) || !slices.Equal(got.Classes, c.classes) ||
			!slices.Equal(got.Values, c.values) || !slices.Equal(got.Labels, c.labels) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestWrongCSVIsNamed(t *testing.T) {
	long := strings.Repeat("1,", csvMaxLine/2) + "2"
	numbers := func(n int, label func(i int) string) string {
		var b strings.Builder
		b.WriteString("a,label\n")
		for i := range n {
			fmt.Fprintf(&b, "1,%s\n", label(i))
		}
		return b.String()
	}
	for _, c := range []struct{ in, label, want string }{
		{"", "", "t.csv: the file is empty"},
		{"a,label\n", "", "t.csv: there is a heading but no row"},
		{"5\n6\n", "", "t.csv:1:1: there is one column"},
		{"a,b,label\n1,2,x\n3,oops,y\n", "", `t.csv:3:3: column b: "oops" is not a finite number`},
		{"a,b,label\n1,2,x\n\n3,,y\n", "", `t.csv:4:3: column b: "" is not a finite number`},
		{"1,nan,x\n", "", `t.csv:1:3: column 2: "nan" is not a finite number`},
		{"1,1e99,x\n", "", `t.csv:1:3: column 2: "1e99" is not a finite number`},
		{"1,2,x\n3,4\n", "", "t.csv:2:1: the row has another number of fields than the first, which has 3"},
		{"1,2,x\n3,4,\n", "", "t.csv:2:5: label: is empty"},
		{"1,2,\"x\n", "", "t.csv:1:8: extraneous or missing"},
		{"a,b\n1,2\n", "c", `t.csv: label column: there is no column "c"; there are a, b`},
		{"1,2\n1,2\n", "3", `t.csv: label column: there is no column "3"; there are 1, 2`},
		{"a,price\n1,3\n2, 4.5\n3,5.5\n", "", "t.csv:3:4: label: 4.5 is not a whole number; labels are classes, and numbers are not predicted here"},
		{"a,price\n1,3\n2,nan\n", "", "t.csv:3:3: label: nan is not a whole number"},
		{numbers(120, strconv.Itoa), "", "t.csv:121:3: label: 120 samples have 120 different labels, which leaves fewer than two to learn each class from"},
		{numbers(400, func(i int) string { return fmt.Sprint(min(i, 201)) }), "", "t.csv:203:3: label: 400 samples have 202 different labels"},
		{numbers(maxClasses+1, strconv.Itoa), "", "t.csv:65538:3: label: there are more than 65536 different labels"},
		{numbers(maxClasses+1, func(i int) string { return fmt.Sprint(i, ".5") }), "", "t.csv:2:3: label: 0.5 is not a whole number"},
		{"a;b;label\n3,5;2;x\n", "", `t.csv:2:1: column a: "3,5" is not a finite number (a decimal comma?`},
		{"3,5;2,5;1,5;2\n", "", `t.csv:1:1: column 1: "3,5" is not a finite number (a decimal comma?`},
		{"3,5;2;x\n1;2;y\n", "", `t.csv:1:1: column 1: "3,5" is not a finite number (a decimal comma?`},
		{"a;price\n1;3\n2;1.234,50\n", "", "t.csv:3:3: label: 1.234,50 is not a whole number"},
		{"a,label\n1,gr\xfcn\n", "", `t.csv:2:3: "gr\xfcn" is not UTF-8`},
		{"gr\xf6\xdfe,label\n1,x\n", "", `t.csv:1:1: "gr\xf6\xdfe" is not UTF-8`},
		{"\xff\xfea\x00,\x00b\x00\n\x00", "", "t.csv:1: the file is UTF-16, not UTF-8"},
		{"1,x\n" + long, "", "t.csv:2: the line is longer than 1048576 bytes"},
	} {
		_, err := ReadCSV(strings.NewReader(c.in), "t.csv", c.label, 0)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%.30q: got %v, want %s", c.in, err, c.want)
		}
	}
	if _, err := ReadCSV(strings.NewReader("1,2,x\n3,4,y\n"), "t.csv", "", 15); err == nil || !strings.HasPrefix(err.Error(), "t.csv:2: the values take more than the limit") {
		t.Errorf("got %v", err)
	}
}

func TestOpenCSV(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flowers.csv")
	writeFile(t, path, []byte("a,b,label\n"+strings.Repeat("1,2,x\n3,4,y\n", 50)))
	set, err := Open(path, Options{TestFraction: 0.3})
	if err != nil {
		t.Fatal(err)
	}
	if set.Train.Len()+set.Test.Len() != 100 || set.Test.Len() < 15 || set.Test.Len() > 45 {
		t.Errorf("%d and %d samples", set.Train.Len(), set.Test.Len())
	}
	if !slices.Equal(set.Train.Shape(), []int{2}) || !slices.Equal(set.Test.Classes(), []string{"x", "y"}) {
		t.Errorf("shape %v, classes %v", set.Train.Shape(), set.Test.Classes())
	}
}

func TestReadRows(t *testing.T) {
	for _, c := range []struct {
		in, label string
		want      []float32
		wrong     string
	}{
		{in: "1,2\n3,4\n", want: []float32{1, 2, 3, 4}},
		{in: "a;b\r\n1;2\r\n", want: []float32{1, 2}},
		{in: "a,2\n1,2\n", want: []float32{1, 2}},
		{in: "1,2,x\n3,4,never seen\n", want: []float32{1, 2, 3, 4}},
		{in: "label,a,b\n1.5,1,2\n", want: []float32{1, 2}},
		{in: "a,kind,b\n1,x,2\n", label: "kind", want: []float32{1, 2}},
		{in: "", wrong: "t.csv: the file is empty"},
		{in: "a,b\n", wrong: "t.csv: there is a heading but no row"},
		{in: "1\n", wrong: "t.csv:1: the row has 1 fields; want 2 numbers, with or without a label"},
		{in: "1,2\n3\n", wrong: "t.csv:2:1: the row has another number of fields than the first, which has 2"},
		{in: "1,2\n3,x\n", wrong: `t.csv:2:3: column 2: "x" is not a finite number`},
		{in: "1;2,5\n", wrong: `t.csv:1:3: column 2: "2,5" is not a finite number (a decimal comma?`},
		{in: "a,b,c\n1,2,3\n", label: "kind", wrong: `t.csv: label column: there is no column "kind"`},
	} {
		got, err := readRows(strings.NewReader(c.in), "t.csv", 2, c.label)
		switch {
		case c.wrong == "" && (err != nil || !slices.Equal(got, c.want)):
			t.Errorf("%q: got %v, %v, want %v", c.in, got, err, c.want)
		case c.wrong != "" && (err == nil || !strings.HasPrefix(err.Error(), c.wrong)):
			t.Errorf("%q: got %v, want %s", c.in, err, c.wrong)
		}
	}
}
