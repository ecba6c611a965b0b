#include "assay/cli/app.h"

int main(int argc, char** argv) { return assay::cli::Main(argc, argv); }
