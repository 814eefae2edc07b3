package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"millrace.dev/control"
	"millrace.dev/learn/data"
	"millrace.dev/learn/job"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/saved"
)

// stripes makes a folder of images in dir/pictures: three classes of 30, each with a bright
// stripe elsewhere, and one image apart from them, dir/one.png, of the class "middle".
func stripes(t testing.TB, dir string) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	for class, name := range []string{"high", "low", "middle"} {
		folder := filepath.Join(dir, "pictures", name)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range 30 {
			stripe(t, filepath.Join(folder, fmt.Sprintf("%02d.png", i)), []int{0, 8, 4}[class], r, false)
		}
	}
	stripe(t, filepath.Join(dir, "one.png"), 4, r, false)
	stripe(t, filepath.Join(dir, "inverted.png"), 4, r, true)
}

// stripe draws 12×12 dark noise with four bright rows from a row on, or its negative.
func stripe(t testing.TB, path string, from int, r *rand.Rand, negative bool) {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, 12, 12))
	for y := range 12 {
		for x := range 12 {
			v := uint8(r.IntN(60))
			if y >= from && y < from+4 {
				v += 100
			}
			if negative {
				v = 255 - v
			}
			img.SetGray(x, y, color.Gray{Y: v})
		}
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := png.Encode(f, img); err != nil {
		t.Fatal(err)
	}
}

// TestTrainEvalPredict goes the way of a newcomer with images in a folder.
func TestTrainEvalPredict(t *testing.T) {
	dir := t.TempDir()
	stripes(t, dir)
	got := millrace(t, dir, "train", "--data", "pictures", "--model", "mlp", "--epochs", "8", "--batch", "16", "--augment", "flip", "--out", "run", "--json")
	if got.code != exitDone {
		t.Fatalf("%+v", got)
	}
	r := decode[job.Result](t, got)
	if r.TestAccuracy < 0.9 || r.Steps != 40 || r.Epochs != 8 || r.Stopped || r.Weights != 144*256+256+3*256+3 {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{"training mlp (37,891 weights)", "epoch 8  step 40  loss", "validation: loss"} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("%q does not tell %q", got.stderr, want)
		}
	}
	for _, path := range []string{r.Model, r.Curves, r.Report, "run/run.json", "run/events.jsonl", "run/checkpoints/000000000040.checkpoint"} {
		if info, err := os.Stat(filepath.Join(dir, path)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, model := range []string{"run", r.Model} {
		args := []string{"eval", model, "--json"}
		if model != "run" {
			args = append(args, "--data", "pictures")
		}
		e := decode[evaluation](t, millrace(t, dir, args...))
		if e.Accuracy != r.TestAccuracy || e.Samples != r.TestSamples || len(e.Classes) != 3 || len(e.Confusion) != 3 {
			t.Errorf("%v: %+v", args, e)
		}
	}
	if got := millrace(t, dir, "eval", "run"); got.code != exitDone || !strings.Contains(got.stdout, "CLASS") || !strings.Contains(got.stdout, "middle") {
		t.Errorf("%+v", got)
	}
	list := decode[[]prediction](t, millrace(t, dir, "predict", "run", "one.png", "inverted.png", "--json"))
	if len(list) != 2 || list[0].Guesses[0].Class != "middle" || len(list[0].Guesses) != 3 || list[0].Note != "" || !strings.Contains(list[1].Note, "--invert") {
		t.Errorf("%+v", list)
	}
	swapped := decode[[]prediction](t, millrace(t, dir, "predict", r.Model, "inverted.png", "--invert", "--top", "1", "--json"))
	if len(swapped[0].Guesses) != 1 || swapped[0].Guesses[0].Class != "middle" || swapped[0].Note != "" {
		t.Errorf("%+v", swapped)
	}
	if got := millrace(t, dir, "predict", "run", "one.png"); got.code != exitDone || !strings.Contains(got.stdout, "%  middle") {
		t.Errorf("%+v", got)
	}
	report, err := os.ReadFile(filepath.Join(dir, r.Report))
	if err != nil || !strings.Contains(string(report), "mlp on ") || !strings.Contains(string(report), "<svg") {
		t.Errorf("report of %d bytes, %v", len(report), err)
	}
}

// TestTrainIsReproducible trains twice, with other numbers of threads, from flags and from a file.
func TestTrainIsReproducible(t *testing.T) {
	dir := t.TempDir()
	stripes(t, dir)
	config := "data: pictures\nmodel: mlp\nsteps: 12\nbatch: 16\nlr: 0.01\naugment: [flip, crop]\ncheckpoint-every: 0s\n"
	if err := os.WriteFile(filepath.Join(dir, "run.yaml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"train --data pictures --model mlp --steps 12 --batch 16 --lr 0.01 --augment flip --augment crop --threads 1 --out a",
		"train --config run.yaml --threads 2 --out b",
		"train --config run.yaml --seed 2 --out c",
	} {
		if got := millrace(t, dir, strings.Fields(line)...); got.code != exitDone {
			t.Fatalf("%s: %+v", line, got)
		}
	}
	if !same(t, dir, "a", "b") {
		t.Error("the same settings give other weights")
	}
	if same(t, dir, "a", "c") {
		t.Error("another seed gives the same weights")
	}
}

// same compares the models of two runs.
func same(t testing.TB, dir, a, b string) bool {
	t.Helper()
	var texts [2]string
	for i, run := range []string{a, b} {
		text, err := os.ReadFile(filepath.Join(dir, run, job.ModelFile))
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
	}
	return texts[0] == texts[1]
}

func TestEarlyStopIsExplained(t *testing.T) {
	dir := t.TempDir()
	stripes(t, dir)
	got := millrace(t, dir, "train", "--data", "pictures", "--model", "mlp", "--epochs", "500", "--batch", "64",
		"--schedule", "plateau", "--lr", "1e-30", "--early-stop", "5", "--out", "run", "--json")
	if r := decode[job.Result](t, got); !r.Stopped || r.Epochs >= 500 || r.BestEpoch != r.Epochs-5 || r.TestTop5 != nil {
		t.Fatalf("%+v", r)
	}
	a := decode[account](t, millrace(t, dir, "why", "run", "--json"))
	found := map[string]control.Decision{}
	for _, d := range a.Decisions {
		found[d.Policy] = d
	}
	if d := found["early stop"]; d.New != control.Stop || len(d.Signals) == 0 {
		t.Errorf("early stop: %+v", d)
	}
	if d := found["plateau"]; d.Expect == nil || d.Observed == nil {
		t.Errorf("plateau: %+v", d)
	}
}

// TestQuotedHints follows the program's own advice where a path needs quotes.
func TestQuotedHints(t *testing.T) {
	dir := t.TempDir()
	stripes(t, dir)
	line := []string{"train", "--data", "pictures", "--model", "mlp", "--steps", "3", "--out", "it's mine"}
	if got := millrace(t, dir, line...); got.code != exitDone || strings.Contains(got.stderr, "arena") {
		t.Fatalf("%+v", got)
	}
	const word = `--resume 'it'\''s mine'`
	got := millrace(t, dir, line...)
	if got.code != exitBadInput || !strings.Contains(got.stderr, "go on with it by "+word+", or choose another --out") {
		t.Errorf("%+v", got)
	}
	if err := os.Remove(filepath.Join(dir, "it's mine", job.ModelFile)); err != nil {
		t.Fatal(err)
	}
	if got := millrace(t, dir, "eval", "it's mine"); got.code != exitBadInput || !strings.Contains(got.stderr, word) {
		t.Errorf("%+v", got)
	}
	journal, err := os.Open(filepath.Join(dir, "it's mine", "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	if err := unix.Flock(int(journal.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if got := millrace(t, dir, "eval", "it's mine"); got.code != exitBadInput || !strings.Contains(got.stderr, "still going on") {
		t.Errorf("%+v", got)
	}
}

// TestBatchFitsTheSamples trains on few samples, without and with a batch that is large for them.
func TestBatchFitsTheSamples(t *testing.T) {
	dir := t.TempDir()
	stripes(t, dir)
	for line, hint := range map[string]bool{"--out fitted": false, "--batch 64 --out given": true} {
		args := append(strings.Fields("train --data pictures --model mlp --steps 3"), strings.Fields(line)...)
		if got := millrace(t, dir, args...); got.code != exitDone || strings.Contains(got.stderr, "a --batch smaller than 64") != hint {
			t.Errorf("%s: %+v", line, got)
		}
	}
	for run, batch := range map[string]string{"fitted": `"batch": 8,`, "given": `"batch": 64,`} {
		text, err := os.ReadFile(filepath.Join(dir, run, "run.json"))
		if err != nil || !strings.Contains(string(text), batch) {
			t.Errorf("%s: %v, run.json is %s", run, err, text)
		}
		if got := millrace(t, dir, "train", "--resume", run); got.code != exitDone || strings.Contains(got.stderr, "smaller") {
			t.Errorf("%s: %+v", run, got)
		}
	}
}

// TestPredictRows trains on a table and asks for rows with and without heading and label.
func TestPredictRows(t *testing.T) {
	dir := t.TempDir()
	var rows strings.Builder
	rows.WriteString("kind,x,y\n")
	for i := range 60 {
		fmt.Fprintf(&rows, "low,1.%d,0.2\nhigh,7.%d,1.%d\n", i, i, i%9)
	}
	for name, text := range map[string]string{
		"rows.csv": rows.String(), "labelled.csv": "x,y,kind\n7.1,1.5,low\n1.2,0.2,low\n", "plain.tsv": "1.3\t0.2\n7.5\t1.1\n",
		"headed.csv": "x;y\n7.5;1.1\n", "wide.csv": "1,2,3,4\n", "comma.csv": "x;y\n7,5;1\n", "note.txt": "1,2\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := millrace(t, dir, strings.Fields("train --data rows.csv --label-column kind --model mlp --epochs 10 --out run")...)
	if got.code != exitDone {
		t.Fatalf("%+v", got)
	}
	list := decode[[]prediction](t, millrace(t, dir, "predict", "run", "labelled.csv", "plain.tsv", "headed.csv", "--json"))
	var found []string
	for _, p := range list {
		found = append(found, fmt.Sprint(p.Table, p.Row, p.Guesses[0].Class))
	}
	if want := "[labelled.csv1high labelled.csv2low plain.tsv1low plain.tsv2high headed.csv1high]"; fmt.Sprint(found) != want {
		t.Errorf("got %v, want %s", found, want)
	}
	var rowsOf bytes.Buffer
	if a, err := data.NewArray([]float32{7.5, 1.1, 1.2, 0.2}, 2, 2); err != nil || data.WriteNPY(&rowsOf, a) != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x.npy"), rowsOf.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	arrays := decode[[]prediction](t, millrace(t, dir, "predict", "run", "x.npy", "--json"))
	if len(arrays) != 2 || arrays[0].Guesses[0].Class != "high" || arrays[1].Guesses[0].Class != "low" || arrays[1].Row != 2 {
		t.Errorf("%+v", arrays)
	}
	if got := millrace(t, dir, "predict", "run", "headed.csv"); !strings.HasPrefix(got.stdout, "headed.csv, row 1\n") {
		t.Errorf("%+v", got)
	}
	for name, want := range map[string]string{
		"wide.csv": "wide.csv:1: the row has 4 fields; want 2 numbers", "comma.csv": "decimal comma", "note.txt": "want a .csv, .tsv or .npy file", "none.csv": "none.csv",
	} {
		if got := millrace(t, dir, "predict", "run", name); got.code != exitBadInput || got.stdout != "" || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := millrace(t, dir, "predict", "run", "headed.csv", "--invert"); got.code != exitUsage {
		t.Errorf("%+v", got)
	}
}

// TestReadersLeave trains with nobody reading what is said: the run ends with its model.
func TestReadersLeave(t *testing.T) {
	dir := t.TempDir()
	stripes(t, dir)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	cmd := exec.Command(binary, "train", "--data", "pictures", "--model", "mlp", "--steps", "3", "--out", "run")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, w, w
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != exitFailed {
		t.Errorf("%v", err)
	}
	for _, name := range []string{job.ModelFile, "report.html"} {
		if _, err := os.Stat(filepath.Join(dir, "run", name)); err != nil {
			t.Error(err)
		}
	}
}

// TestBadProcessorLevel asks for vector instructions that do not exist: nothing is begun.
func TestBadProcessorLevel(t *testing.T) {
	t.Setenv("MILLRACE_CPU", "bogus")
	dir := t.TempDir()
	for _, line := range []string{"train --model mlp --steps 1", "train --resume run", "eval run", "predict run one.png", "version"} {
		got := millrace(t, dir, strings.Fields(line)...)
		if got.code != exitUsage || !strings.Contains(got.stderr, `MILLRACE_CPU="bogus" is not one of generic, avx2, avx512 (see`) {
			t.Errorf("%s: %+v", line, got)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestGivenZeros keeps values of 0, in effect and in run.json.
func TestGivenZeros(t *testing.T) {
	dir := t.TempDir()
	stripes(t, dir)
	base := "train --data pictures --model mlp --steps 3 --optimizer adamw --out "
	for line, want := range map[string][2]string{
		"absent":                    {`"lr": 0.003`, `"weight-decay": 0.01`},
		"decay --weight-decay 0":    {`"lr": 0.003`, `"weight-decay": 0,`},
		"still --lr 0":              {`"lr": 0,`, `"weight-decay": 0.01`},
		"steps --epochs 0":          {`"epochs": 0,`, `"steps": 3`},
		"both --epochs 1 --steps 0": {`"epochs": 1,`, `"steps": 0`},
	} {
		name, _, _ := strings.Cut(line, " ")
		if got := millrace(t, dir, strings.Fields(base+line)...); got.code != exitDone {
			t.Fatalf("%s: %+v", line, got)
		}
		text, err := os.ReadFile(filepath.Join(dir, name, "run.json"))
		if err != nil || !strings.Contains(string(text), want[0]) || !strings.Contains(string(text), want[1]) {
			t.Errorf("%s: %v, run.json is %s, want %q", line, err, text, want)
		}
	}
	if same(t, dir, "absent", "decay") || same(t, dir, "absent", "still") {
		t.Error("a value of 0 had no effect")
	}
}

// TestDivergenceIsExplained lets the weights grow until a number is no longer finite.
func TestDivergenceIsExplained(t *testing.T) {
	dir := t.TempDir()
	stripes(t, dir)
	got := millrace(t, dir, "train", "--data", "pictures", "--model", "mlp", "--optimizer", "sgd", "--lr", "1e6",
		"--schedule", "constant", "--steps", "200", "--out", "run")
	if got.code != exitFailed || !strings.Contains(got.stderr, ": mlp/dense_") || !strings.Contains(got.stderr, "lower learning rate") {
		t.Errorf("%+v", got)
	}
}

// TestTrainRefuses checks that bad input is named, ends with its exit code, and leaves nothing.
func TestTrainRefuses(t *testing.T) {
	dir := t.TempDir()
	stripes(t, dir)
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("full/note.txt", "mine")
	write("broken/a/x.png", "no image")
	write("broken/b/x.png", "no image")
	write("t10k-images-idx3-ubyte", "\x00\x00\x08\x03\x00\x00\x00\x05")
	write("numbers.csv", "a,b,label\n1,2,x\n3,4,y\n5,6,x\n7,8,y\n9,1,x\n")
	write("unknown.yaml", "model: mlp\nmodle: mlp\n")
	write("wrong.yaml", "epochs: many\n")
	write("negative.yaml", "batch: -3\n")
	write("time.yaml", "model: mlp\ncheckpoint-every: soon\n")
	write("empty.yaml", "data: ''\n")
	write("vgg.yaml", "batch: 8\nmodel: vgg\n")
	write("fraction.yaml", "test-fraction: 3\n")
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	for line, c := range map[string]struct {
		code int
		want string
	}{
		"--model vgg":                   {exitBadInput, `unknown model "vgg"; known are cnn, lenet, mlp, resnet20`},
		"--data nothing":                {exitBadInput, "known are fashion-mnist-mini, fashion-mnist, mnist"},
		"--data no/such/folder":         {exitBadInput, "no/such/folder"},
		"--data empty":                  {exitBadInput, "empty"},
		"--data broken":                 {exitBadInput, "broken/a/x.png"},
		"--data t10k-images-idx3-ubyte": {exitBadInput, "t10k-images-idx3-ubyte"},
		"--data numbers.csv":            {exitBadInput, "wants images"},
		"--optimizer adagrad":           {exitUsage, "known are sgd, momentum"},
		"--schedule linear":             {exitUsage, "known are constant"},
		"--augment zoom":                {exitUsage, "known are flip"},
		"--augment crop --data numbers.csv --model mlp": {exitBadInput, "augmentation needs images"},
		"--batch 0":                         {exitUsage, "batch: 0 is not from 1 to 1048576 "},
		"--lr -1":                           {exitUsage, "lr: -1"},
		"--epochs -1":                       {exitUsage, "epochs: -1 is not from 0 to 1000000000 "},
		"--lr NaN":                          {exitUsage, "lr: NaN"},
		"--valid-fraction 1":                {exitUsage, "valid-fraction: 1 is not from 0 to 0.9 "},
		"--threads 5000":                    {exitUsage, "threads: 5000 is not from 0 to 1024 "},
		"--epochs 0":                        {exitUsage, "nothing would be trained"},
		"--steps 0":                         {exitUsage, "nothing would be trained"},
		"--epochs 0 --steps 0":              {exitUsage, "nothing would be trained"},
		"--out=":                            {exitUsage, "--out is empty"},
		"--resume=":                         {exitUsage, "--resume is empty"},
		"--data=":                           {exitUsage, "--data is empty"},
		"--config=":                         {exitUsage, "--config is empty"},
		"--early-stop 3 --valid-fraction 0": {exitUsage, "validation set"},
		"--config unknown.yaml":             {exitBadInput, "unknown.yaml:2"},
		"--config wrong.yaml":               {exitBadInput, `wrong.yaml:1:9: "many" is not a whole number`},
		"--config time.yaml":                {exitBadInput, `time.yaml:2:19: "soon" is not a time`},
		"--config empty.yaml":               {exitBadInput, "empty.yaml:1:7: data is empty"},
		"--config vgg.yaml":                 {exitBadInput, "vgg.yaml:2:8: model: unknown model"},
		"--config fraction.yaml":            {exitBadInput, "fraction.yaml:1:16: test-fraction: 3 is not between"},
		"--config negative.yaml --batch -4": {exitUsage, "batch: -4"},
		"--config negative.yaml":            {exitBadInput, "negative.yaml:1:8: batch: -3 is not from 1 to 1048576"},
		"--config none.yaml":                {exitBadInput, "none.yaml"},
		"--out full":                        {exitBadInput, "run directory full: is not empty"},
		"--out full/note.txt/run":           {exitBadInput, "full/note.txt"},
		"--resume empty":                    {exitBadInput, "holds no run"},
		"--resume none":                     {exitBadInput, "does not exist"},
		"--resume empty --out other":        {exitUsage, "exclude each other"},
		"--epochs many":                     {exitUsage, `"many" for "--epochs" flag: not a whole number`},
		"--image-size big":                  {exitUsage, "28x28"},
		"pictures":                          {exitUsage, `unexpected argument "pictures"`},
	} {
		t.Run(line, func(t *testing.T) {
			args := append([]string{"train"}, strings.Fields(line)...)
			if !strings.Contains(line, "--out") && !strings.Contains(line, "--resume") {
				args = append(args, "--out", "new")
			}
			got := millrace(t, dir, args...)
			if got.code != c.code || !strings.Contains(got.stderr, c.want) || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 {
				t.Errorf("got %+v, want code %d and %q", got, c.code, c.want)
			}
			for _, word := range []string{"strconv", "unmarshal", "struct"} {
				if strings.Contains(got.stderr, word) {
					t.Errorf("%q holds words of a library", got.stderr)
				}
			}
			for _, left := range []string{"new", "runs", "other"} {
				if _, err := os.Stat(filepath.Join(dir, left)); err == nil {
					t.Errorf("%s was left behind", left)
				}
			}
		})
	}
}

// TestResumeRefuses asks to go on with settings that are not the run's.
func TestResumeRefuses(t *testing.T) {
	dir := t.TempDir()
	stripes(t, dir)
	if got := millrace(t, dir, "train", "--data", "pictures", "--model", "mlp", "--steps", "3", "--out", "run"); got.code != exitDone {
		t.Fatalf("%+v", got)
	}
	for line, want := range map[string]string{
		"--model lenet":             `--model is "mlp" in the run, not "lenet"`,
		"--data fashion-mnist-mini": `not "fashion-mnist-mini"`,
		"--lr 0.5 --seed 9":         "--lr is 0.003 in the run, not 0.5; --seed is 1 in the run, not 9",
		"--image-size 20x20":        "--image-size is [0,0] in the run, not [20,20]",
	} {
		got := millrace(t, dir, append([]string{"train", "--resume", "run"}, strings.Fields(line)...)...)
		if got.code != exitBadInput || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v", line, got)
		}
	}
	// The same settings, and another number of threads, are no contradiction.
	before := decode[job.Result](t, millrace(t, dir, "train", "--resume", "run", "--json"))
	report, err := os.ReadFile(filepath.Join(dir, "run", "report.html"))
	if err != nil || !strings.Contains(string(report), "lower bound") || strings.Contains(string(report), "top 5") {
		t.Errorf("the report of three classes: %v", err)
	}
	got := millrace(t, dir, "train", "--resume", "run", "--model", "mlp", "--data", "pictures", "--threads", "1")
	if got.code != exitDone || !strings.Contains(got.stderr, "going on after step 3 of 3") || strings.Contains(got.stdout, "top 5") {
		t.Errorf("%+v", got)
	}
	after := decode[job.Result](t, millrace(t, dir, "train", "--resume", "run", "--json"))
	if before.Seconds <= 0 || after.Seconds <= 0 || after.TestAccuracy != before.TestAccuracy {
		t.Errorf("resumed after its end, the run gave %+v and then %+v", before, after)
	}
	// The newest checkpoint is damaged, then all are.
	damage := func(path string) {
		t.Helper()
		if err := os.Truncate(filepath.Join(dir, path), 100); err != nil {
			t.Fatal(err)
		}
	}
	copied, err := os.ReadFile(filepath.Join(dir, "run/checkpoints/000000000003.checkpoint"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"000000000004", "000000000005"} {
		if err := os.WriteFile(filepath.Join(dir, "run/checkpoints", name+".checkpoint"), copied, 0o644); err != nil {
			t.Fatal(err)
		}
		damage("run/checkpoints/" + name + ".checkpoint")
	}
	got = millrace(t, dir, "train", "--resume", "run")
	if got.code != exitDone || !strings.Contains(got.stderr, "000000000004.checkpoint: ") ||
		!strings.Contains(got.stderr, "; going on from run/checkpoints/000000000003.checkpoint") {
		t.Errorf("%+v", got)
	}
	damage("run/checkpoints/000000000003.checkpoint")
	got = millrace(t, dir, "train", "--resume", "run")
	if got.code != exitBadInput || !strings.Contains(got.stderr, "; checkpoint run/checkpoints/000000000003.checkpoint: ") {
		t.Errorf("%+v", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "run/checkpoints/000000000003.checkpoint"), copied, 0o644); err != nil {
		t.Fatal(err)
	}
	// The data changed since.
	for i := range 10 {
		if err := os.Remove(filepath.Join(dir, "pictures", "high", fmt.Sprintf("%02d.png", i))); err != nil {
			t.Fatal(err)
		}
	}
	if got := millrace(t, dir, "train", "--resume", "run"); got.code != exitBadInput || !strings.Contains(got.stderr, "trained on other data") {
		t.Errorf("%+v", got)
	}
}

func TestEvalAndPredictRefuse(t *testing.T) {
	dir := t.TempDir()
	stripes(t, dir)
	if got := millrace(t, dir, "train", "--data", "pictures", "--model", "mlp", "--steps", "2", "--out", "run"); got.code != exitDone {
		t.Fatalf("%+v", got)
	}
	model := filepath.Join(dir, "run", job.ModelFile)
	text, err := os.ReadFile(model)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(filepath.Join(dir, "damaged"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	numbersModel(t, filepath.Join(dir, "numbers"))
	for _, args := range [][]string{{"eval", ""}, {"predict", "", "one.png"}, {"predict", "run", ""}, {"why", ""}} {
		if got := millrace(t, dir, args...); got.code != exitUsage || !strings.Contains(got.stderr, " is empty") {
			t.Errorf("%q: %+v", args, got)
		}
	}
	mixed := millrace(t, dir, "predict", "run", "none.png", "one.png", "run/run.json", "inverted.png")
	if mixed.code != exitBadInput || !strings.Contains(mixed.stdout, "one.png\n") || !strings.Contains(mixed.stdout, "inverted.png\n") ||
		strings.Count(mixed.stderr, "\n") != 2 || !strings.Contains(mixed.stderr, "none.png") || !strings.Contains(mixed.stderr, "run/run.json") {
		t.Errorf("%+v", mixed)
	}
	for line, c := range map[string]struct {
		code int
		want string
	}{
		"eval damaged --data pictures":       {exitBadInput, "damaged: at byte"},
		"eval numbers --data pictures":       {exitBadInput, "numbers: the model has no classes"},
		"predict numbers one.png":            {exitBadInput, "numbers: the model has no classes"},
		"eval none --data pictures":          {exitBadInput, "none: no such file"},
		"eval pictures":                      {exitBadInput, "holds no run"},
		"eval run --data fashion-mnist-mini": {exitBadInput, "the model knows the classes high, low, middle"},
		"eval run/model.millrace":            {exitUsage, "--data is missing"},
		"eval":                               {exitUsage, "MODEL is missing"},
		"eval run --threads -3":              {exitUsage, "--threads -3 is not from 0 to 1024"},
		"eval run --data=":                   {exitUsage, "--data is empty"},
		"predict run":                        {exitUsage, "FILE is missing"},
		"predict run none.png":               {exitBadInput, "none.png"},
		"predict run run/run.json":           {exitBadInput, "not a readable image"},
		"predict one.png one.png":            {exitBadInput, "not a millrace file"},
		"predict run one.png --top 0":        {exitUsage, "--top"},
		"predict run/checkpoints/000000000002.checkpoint one.png": {exitBadInput, "is a checkpoint, not a model"},
	} {
		if got := millrace(t, dir, strings.Fields(line)...); got.code != c.code || !strings.Contains(got.stderr, c.want) || got.stdout != "" {
			t.Errorf("%s: %+v, want code %d and %q", line, got, c.code, c.want)
		}
	}
	if err := os.Remove(model); err != nil {
		t.Fatal(err)
	}
	if got := millrace(t, dir, "eval", "run"); got.code != exitBadInput || !strings.Contains(got.stderr, "has no model yet") {
		t.Errorf("%+v", got)
	}
}

// numbersModel writes a model that predicts a number.
func numbersModel(t *testing.T, path string) {
	t.Helper()
	net, err := nn.Sequential("numbers", nn.Input("x", 2), nn.Dense{Units: 1})
	if err != nil {
		t.Fatal(err)
	}
	v, err := net.NewVectors()
	if err != nil {
		t.Fatal(err)
	}
	if err := (&saved.Model{Net: net, Vectors: v}).WriteFile(path); err != nil {
		t.Fatal(err)
	}
}

// TestConfigHasAllFlags keeps the configuration file and the flags alike.
func TestConfigHasAllFlags(t *testing.T) {
	cmd := trainCommand(newConsole(os.Stdout, os.Stderr))
	settings, err := json.Marshal(job.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(settings, &fields); err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[trainConfig]()) {
		keys[f.Tag.Get("yaml")] = true
	}
	for name := range fields {
		if cmd.Flags().Lookup(name) == nil {
			t.Errorf("the setting %s has no flag", name)
		}
		if !keys[name] {
			t.Errorf("the setting %s has no key in the configuration file", name)
		}
	}
	if len(keys) != len(fields) {
		t.Errorf("%d keys, %d settings", len(keys), len(fields))
	}
}
