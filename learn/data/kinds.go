package data

func openFolder(name string, _ Options) (*Set, error) {
	return nil, wrongFile(name, "this kind of data set is not read yet")
}
func openCSV(name string, _ Options) (*Set, error) {
	return nil, wrongFile(name, "this kind of data set is not read yet")
}
func openNPZ(name string, _ Options) (*Set, error) {
	return nil, wrongFile(name, "this kind of data set is not read yet")
}
