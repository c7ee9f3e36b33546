# Groundwork. Every command for daily work is a target of this file; `make help` lists the targets.
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

VARIANT ?= release
BUILD   ?= build/$(VARIANT)
GEN      = $(BUILD)/gen
CC      := gcc

# LAYERS: the folders of common/, lowest first. LEVELS: the levels that contain these folders. common/layers.txt defines which
# folder may include which.
LAYERS   := $(shell awk '/^    [a-z]/{print $$1}' common/layers.txt)
LEVELS   := $(shell awk '/^[a-z]/{print "common/" $$1}' common/layers.txt)
SERVICES := $(notdir $(patsubst %/main.c,%,$(wildcard services/*/main.c)))
PACKAGES := libuv libcurl libcares libnghttp2 openssl hiredis jansson libpq libargon2 libprotobuf-c zlib libidn2
# Programs that a daemon starts: services/<daemon>/<program>/main.c.
PROGRAMS := $(notdir $(patsubst %/main.c,%,$(wildcard services/*/*/main.c)))

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Walloca -Wconversion \
            -Wformat=2 -Wundef -Wframe-larger-than=8192 -Werror
CPPFLAGS := $(LEVELS:%=-I%) -I$(GEN) -D_GNU_SOURCE $(shell pkg-config --cflags $(PACKAGES) 2>/dev/null)
CFLAGS    = -std=gnu17 $(WARNINGS) -fno-common -fstack-protector-strong -fPIE -g $(CFLAGS_$(VARIANT))
LDFLAGS   = -pie -rdynamic $(LDFLAGS_$(VARIANT))
LDLIBS   := $(shell pkg-config --libs $(PACKAGES) 2>/dev/null) -lmagic -lunistring -lpthread -lm

CFLAGS_release  := -O2 -D_FORTIFY_SOURCE=2
CFLAGS_debug    := -O0 -DGW_DEBUG
# Without the checks for null pointers (ASan reports an access through one) and for pointers that overflow: the two checks take an
# eighth of the compiler's time. The fuzz build has both.
CFLAGS_asan     := -O1 -g1 -DGW_DEBUG -DGW_SANITIZE -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize=null,pointer-overflow -fno-sanitize-recover=undefined
LDFLAGS_asan    := -fsanitize=address,undefined -fuse-ld=gold
CFLAGS_cov      := -O0 -DGW_DEBUG --coverage
LDFLAGS_cov     := --coverage
# clang warns about more than gcc, also about members that a designated initializer leaves out.
CFLAGS_fuzz     := -Wno-missing-field-initializers -Wno-format-nonliteral -O1 -DGW_DEBUG -DGW_SANITIZE -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined
LDFLAGS_fuzz    := -fsanitize=address,undefined
ifeq ($(VARIANT),fuzz)
CC := clang
endif

# Objects are rebuilt when the flags change. FLAGS_TEXT is expanded here (:=): otherwise the stamp would contain the
# folder-specific flags of the first object that requires the stamp.
FLAGS_STAMP := $(BUILD)/.flags
FLAGS_TEXT  := $(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS)

.PHONY: all
all: $(foreach s,$(SERVICES) $(PROGRAMS),$(BUILD)/bin/$(s)) $(BUILD)/.results

$(FLAGS_STAMP): FORCE
	@pkg-config --exists $(PACKAGES) 2>/dev/null || { echo "error: libraries are missing; 'make setup' installs them" >&2; exit 1; }
	@mkdir -p $(@D); echo '$(FLAGS_TEXT)' | cmp -s - $@ || echo '$(FLAGS_TEXT)' > $@
.PHONY: FORCE
FORCE:

# --- sources ------------------------------------------------------------------------------------
objs = $(patsubst %,$(BUILD)/%.o,$(basename $(1)))

LLHTTP     := /usr/share/llhttp
LLHTTP_OBJ  = $(patsubst %,$(BUILD)/llhttp/%.o,api http llhttp)
$(BUILD)/llhttp/%.o: $(LLHTTP)/%.c $(FLAGS_STAMP)
	@mkdir -p $(@D)
	@echo "  CC   $<"
	@$(CC) -std=gnu17 -I/usr/share/include/llhttp -O2 -g -fPIE $(filter -fsanitize%,$(CFLAGS_$(VARIANT))) -w -c $< -o $@
$(BUILD)/common/core/http/%.o: CPPFLAGS += -isystem /usr/share/include/llhttp

$(BUILD)/%.o: %.c $(FLAGS_STAMP)
	@mkdir -p $(@D)
	@echo "  CC   $<"
	@$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@
$(BUILD)/%.o: %.S $(FLAGS_STAMP)
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) -c $< -o $@

# scripts/sqlgen turns each .sql file of the sources into a header of statements (<file>.sql -> <file>_sql.h) and the
# migrations into C arrays. One call makes the headers of all files that changed, or of all files when a header is missing.
SQL_FILES := $(shell find common services tests/unit -name '*.sql' 2>/dev/null)
SQL_HEADERS = $(patsubst %.sql,$(GEN)/%_sql.h,$(notdir $(SQL_FILES)))
$(SQL_HEADERS): $(GEN)/.sql ;
$(GEN)/.sql: $(SQL_FILES) scripts/sqlgen scripts/currencies $(if $(filter-out $(wildcard $(SQL_HEADERS)),$(SQL_HEADERS)),FORCE)
	@mkdir -p $(@D)
	@scripts/sqlgen headers $(@D) $(if $(filter scripts/% FORCE,$?),$(SQL_FILES),$?) && touch $@
$(GEN)/migrations.h: $(wildcard deploy/migrations/*/*.sql) scripts/sqlgen
	@mkdir -p $(@D)
	@scripts/sqlgen migrations deploy/migrations > $@

# ISO 4217 -> table of currencies.
$(GEN)/currencies.h: /usr/share/iso-codes/json/iso_4217.json scripts/currencies
	@mkdir -p $(@D)
	@scripts/currencies > $@
$(BUILD)/common/product/payments/money.o: | $(GEN)/currencies.h

# Unicode -> table of the class and the folded text of each code point, for search.
$(GEN)/unicode.h: scripts/unicode
	@mkdir -p $(@D)
	@scripts/unicode > $@
$(BUILD)/common/product/search/tokens.o: | $(GEN)/unicode.h

# The constant part of the typed client (GET /docs/client.ts) -> an array of its lines.
$(GEN)/client_ts.h: services/api-gateway/client/client.ts
	@mkdir -p $(@D)
	@sed -e 's/[\\"?]/\\&/g; s/.*/    "&\\n",/' -e '1i static const char *const client_text[] = {' -e '$$a };' $< > $@
$(BUILD)/services/api-gateway/openapi/client_types.o: | $(GEN)/client_ts.h

# proto/*.proto -> the messages between the services.
PROTO     := $(wildcard proto/*.proto)
PROTO_OBJ  = $(patsubst proto/%.proto,$(BUILD)/proto/%.pb-c.o,$(PROTO))
PROTO_GEN  = $(GEN)/.proto
$(PROTO_GEN): $(PROTO)
	@mkdir -p $(@D)
	@protoc-c --proto_path=proto --c_out=$(GEN) $(PROTO) && touch $@
$(BUILD)/proto/%.pb-c.o: $(PROTO_GEN) $(FLAGS_STAMP)
	@mkdir -p $(@D)
	@$(CC) $(CPPFLAGS) $(CFLAGS) -w -c $(GEN)/$*.pb-c.c -o $@

define layer_rule
LAYER_SRC_$(1) := $$(wildcard common/*/$(1)/*.c common/*/$(1)/*.S common/*/$(1)/*/*.c)
LAYER_OBJ_$(1) = $$(call objs,$$(LAYER_SRC_$(1)))
$$(LAYER_OBJ_$(1)): | $$(SQL_HEADERS) $$(GEN)/migrations.h $$(PROTO_GEN)
$$(BUILD)/lib/libgw_$(1).a: $$(LAYER_OBJ_$(1)) $(if $(filter http,$(1)),$$(LLHTTP_OBJ)) $(if $(filter bus,$(1)),$$(PROTO_OBJ))
	@mkdir -p $$(@D); rm -f $$@; ar rcs $$@ $$^
endef
$(foreach l,$(LAYERS),$(eval $(call layer_rule,$(l))))
# A daemon links the layers from the top down to base.
reverse  = $(if $(1),$(call reverse,$(wordlist 2,$(words $(1)),$(1))) $(firstword $(1)))
upto     = $(if $(filter $(1),$(2)),$(call upto_,$(1),$(2)),$(error "$(1)" is no layer: name a test tests/unit/test_<layer>.c or test_<layer>_<topic>.c (tests/fuzz/fuzz_<layer>_...), the layers are: $(2)))
upto_    = $(firstword $(2)) $(if $(filter $(1),$(firstword $(2))),,$(call upto_,$(1),$(wordlist 2,$(words $(2)),$(2))))
libs_for = $(foreach l,$(call reverse,$(strip $(1))),$(if $(LAYER_SRC_$(l)),$(BUILD)/lib/libgw_$(l).a))
ALL_LIBS = $(call libs_for,$(LAYERS))

# Packages that only one daemon needs.
PACKAGES_api-gateway := cairo cairo-svg fontconfig # images of charts

PROGRAM_SRC := $(foreach p,$(PROGRAMS),$(shell find services/*/$(p) -name '*.c'))
define service_rule
SERVICE_SRC_$(1) := $$(filter-out $$(PROGRAM_SRC),$$(shell find services/$(1) -name '*.c'))
SERVICE_OBJ_$(1) = $$(call objs,$$(SERVICE_SRC_$(1)))
$$(SERVICE_OBJ_$(1)): CPPFLAGS += -Iservices/$(1) $(if $(PACKAGES_$(1)),$$(shell pkg-config --cflags $$(PACKAGES_$(1)) 2>/dev/null))
$$(SERVICE_OBJ_$(1)): | $$(SQL_HEADERS) $$(GEN)/migrations.h
$$(BUILD)/bin/$(1): $$(SERVICE_OBJ_$(1)) $$(ALL_LIBS)
	@mkdir -p $$(@D)
	@echo "  LD   $$@"
	@$$(CC) $$(LDFLAGS) -o $$@ $$(SERVICE_OBJ_$(1)) -Wl,--start-group $$(ALL_LIBS) -Wl,--end-group $$(LDLIBS) $(if $(PACKAGES_$(1)),$$(shell pkg-config --libs $$(PACKAGES_$(1))))
endef
$(foreach s,$(SERVICES),$(eval $(call service_rule,$(s))))

# A program that a daemon starts links only the folders of common/ in PROGRAM_LAYERS, and its own packages. A program limits
# its own address space and system calls, and forks, so it is built without sanitizers; the sources of these folders are
# compiled a second time for it, under plain/.
PROGRAM_LAYERS := confine media
$(BUILD)/plain/%.o: %.c $(FLAGS_STAMP)
	@mkdir -p $(@D)
	@echo "  CC   $< (plain)"
	@$(CC) $(CPPFLAGS) $(filter-out -fsanitize%,$(CFLAGS)) -MMD -MP -c $< -o $@
PACKAGES_script-sandbox := javascriptcoregtk-4.1 libseccomp
PACKAGES_media-sandbox  := libjpeg libpng libwebp libwebpdemux libwebpmux libavif libheif libtiff-4 lcms2 libseccomp
LIBS_media-sandbox      := -lgif # has no pkg-config file
# -O3 vectorizes the loops over pixels.
$(BUILD)/services/api-gateway/media-sandbox/%.o: CFLAGS += -O3
define program_rule
PROGRAM_OBJ_$(1) = $$(call objs,$(shell find services/*/$(1) -name '*.c'))
$$(PROGRAM_OBJ_$(1)): CPPFLAGS += -I$(dir $(wildcard services/*/$(1))) $$(shell pkg-config --cflags $$(PACKAGES_$(1)) 2>/dev/null)
$$(PROGRAM_OBJ_$(1)): CFLAGS := $$(filter-out -fsanitize%,$$(CFLAGS))
$$(BUILD)/bin/$(1): $$(PROGRAM_OBJ_$(1)) $$(patsubst %.c,$$(BUILD)/plain/%.o,$$(wildcard $$(PROGRAM_LAYERS:%=common/core/%/*.c)))
	@mkdir -p $$(@D)
	@echo "  LD   $$@"
	@$$(CC) $$(filter-out -fsanitize%,$$(LDFLAGS)) -o $$@ $$^ $$(shell pkg-config --libs $$(PACKAGES_$(1))) $$(LIBS_$(1)) -lpthread -lm
endef
$(foreach p,$(PROGRAMS),$(eval $(call program_rule,$(p))))
PROGRAM_CPPFLAGS := $(shell pkg-config --cflags $(foreach p,$(PROGRAMS) $(SERVICES),$(PACKAGES_$(p))) 2>/dev/null)

# --- unit tests: tests/unit/test_<layer>*.c, one program each, linked with the layers up to its own -
UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT_BIN  = $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(UNIT_SRC))
unit_layer = $(word 2,$(subst _, ,$(1)))
define unit_rule
$$(BUILD)/unit/$(1): $$(BUILD)/tests/unit/$(1).o $$(call libs_for,$$(call upto,$(call unit_layer,$(1)),$$(LAYERS)))
	@mkdir -p $$(@D)
	@echo "  LD   $$@"
	@$$(CC) $$(LDFLAGS) -o $$@ $$< -Wl,--start-group $$(filter %.a,$$^) -Wl,--end-group $$(LDLIBS) -lcmocka
endef
$(foreach u,$(basename $(notdir $(UNIT_SRC))),$(eval $(call unit_rule,$(u))))
$(BUILD)/tests/unit/test_queue.o: | $(GEN)/toys_sql.h
# Unit tests of parts of the daemons need the program that the part starts, or include the sources of a service.
$(BUILD)/unit/test_app_script_pool: | $(BUILD)/bin/script-sandbox
$(BUILD)/unit/test_loop_helper: | $(BUILD)/bin/media-sandbox
$(BUILD)/tests/unit/test_base_script_sandbox.o: CPPFLAGS += -Iservices/workflow-runner
# Tests and fuzz targets of records include the query readers of the gateway and of the runner.
$(BUILD)/tests/unit/test_records_%.o: CPPFLAGS += -Iservices/api-gateway -Iservices/workflow-runner
$(BUILD)/tests/fuzz/fuzz_records_%.o: CPPFLAGS += -Iservices/api-gateway
$(BUILD)/unit/test_base_script_sandbox: LDLIBS += -lseccomp
$(call objs,$(UNIT_SRC)): | $(SQL_HEADERS)
# `make test` compiles the tests once and runs them once, so the optimizer would take more time than it saves. The sanitizers watch
# the product, not the tests: instrumented tests take twice the compiler's time. Tests that include sources of a service keep them.
$(call objs,$(UNIT_SRC)): CFLAGS += $(if $(filter asan,$(VARIANT)),-O0)
$(call objs,$(filter-out $(shell grep -lE '^\#include ".*\.c"' $(UNIT_SRC)),$(UNIT_SRC))): CFLAGS := $(filter-out -fsanitize% -fno-sanitize%,$(CFLAGS)) $(if $(filter asan,$(VARIANT)),-O0)
.PHONY: unit
unit: $(UNIT_BIN)
# make unit-<name> builds and runs one, e.g. make unit-test_base_text VARIANT=asan
unit-%: $(BUILD)/unit/%
	$<

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

.PHONY: clean
clean:
	rm -rf build

# --- running -------------------------------------------------------------------------------------
.PHONY: help setup ui console run stop logs reset migrate
help: ## Print this list of targets
	@awk -F ':.*## ' '/^[a-z][a-z_-]*:.*## /{printf "  %-18s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
setup: ## Install the Debian packages for building and running
	@scripts/setup build server
ui: ## Fetch the viewer of GET /docs/ui into build/ui
	@scripts/ui
console: ## Build the console into build/console, which GET /console serves
	@scripts/console
run: ## Build, start all services with private data under .run/, create the project demo
	@scripts/run
stop: ## Stop what `make run` started; the data stays
	@scripts/stop
logs: ## Follow the logs of all daemons, or of one: DAEMON=workflow-runner
	@scripts/logs $(DAEMON)
reset: ## Stop what `make run` started, and remove its data
	@scripts/reset
migrate: ## Migrate the database of `make run` (or of GROUNDWORK_DATABASE_URL) to this version
	@scripts/migrate

# --- tests ---------------------------------------------------------------------------------------
.PHONY: test check-unit check-http check-flow check-docs check-long check-load check-search check-sql check-console shots-console bench-console chaos bench cov
CHAOS_SECONDS ?= 600
CHAOS_SEED    ?=
test: ## Run the static checks and all tests, or only STAGES; the last line is "N passed, N failed"
	@scripts/setup build server test lint && scripts/test $(STAGES)
check-unit: ## Unit tests under the sanitizers
check-http: ## Wire tests (tests/http)
check-flow: ## Flow tests (tests/flow) and the contract check
check-docs: ## The generated documents: validators, generated clients, FUZZ_REQUESTS (20000) random requests, seed FUZZ_SEED (tests/docs)
check-long: ## The tests that `make test` leaves out (tests/long.txt), unit tests with all orders of events, and clang-tidy with more states
check-load: ## Load at full size, tests of durations with exact limits, and the soak (SOAK_SECONDS, 1800); about a hundred minutes on an idle machine
check-search: ## Compare searches with the oracle: SEARCH_CORPORA (1000) random projects, SEARCH_QUERIES (12) each, seeds from SEARCH_SEED (1000) on; about an hour
check-sql: ## Migrate an empty database and prepare every statement
check-docs: export FUZZ_REQUESTS ?= 20000
check-docs: export TESTS_LONG ?= 1
check-unit check-http check-flow check-docs check-long check-load check-search check-sql:
	@scripts/setup build && scripts/test $(@:check-%=%)
check-console: ## The console: types, unit tests, and end-to-end tests with Chromium (half an hour), or only the FILES whose names begin so
	@scripts/setup build server console store && scripts/check-console $(FILES)
shots-console: ## Draw each view of the console, light and dark, at three widths, into build/shots
	@scripts/setup build server console store && scripts/console
	@scripts/with-installation scripts/node npm run --silent --prefix services/console shots
bench-console: ## Measure in Chromium how long the console takes to show the sign-in page, and the rows of an entity of 100,000 records
	@scripts/setup build server console store && scripts/console
	@scripts/with-installation scripts/node npm run --silent --prefix services/console bench
chaos: ## Workflows, payments, push, search, live changes and the assistant under faults for CHAOS_SECONDS (600), seed CHAOS_SEED; then check the results
	@scripts/setup build server chaos
	@$(MAKE) --no-print-directory VARIANT=release all
	@tests/chaos/run --seconds $(CHAOS_SECONDS) $(if $(CHAOS_SEED),--seed $(CHAOS_SEED))
bench: ## Measure Groundwork and comparable software side by side; prints a table of ratios
	@scripts/setup build server bench
	@$(MAKE) --no-print-directory VARIANT=release all
	@tests/bench/run
cov: ## Measure line coverage of unit, wire and flow tests: build/cov/report
	@scripts/cov

# --- fuzzing: tests/fuzz/fuzz_<layer>_<topic>.c, one program each, linked like the unit tests ------
FUZZ_SECONDS ?= 60
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
define fuzz_rule
$$(BUILD)/fuzz/$(1): $$(BUILD)/tests/fuzz/$(1).o $$(call libs_for,$$(call upto,$(call unit_layer,$(1)),$$(LAYERS)))
	@mkdir -p $$(@D)
	@echo "  LD   $$@"
	@$$(CC) $$(LDFLAGS) -fsanitize=fuzzer -o $$@ $$< -Wl,--start-group $$(filter %.a,$$^) -Wl,--end-group $$(LDLIBS)
endef
$(foreach f,$(basename $(notdir $(FUZZ_SRC))),$(eval $(call fuzz_rule,$(f))))
.PHONY: fuzz fuzz-smoke fuzz-build
fuzz-build: $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(FUZZ_SRC))
fuzz: ## Run each fuzz target for FUZZ_SECONDS (default 60)
	@scripts/fuzz $(FUZZ_SECONDS) $(FUZZ)
fuzz-smoke: ## Replay the fuzz corpus
	@scripts/fuzz smoke $(FUZZ)

# --- static checks -------------------------------------------------------------------------------
C_FILES := $(shell find common services tests -name '*.c' -o -name '*.h' | sort)
C_SRC   := $(filter %.c,$(C_FILES))
TIDY_SRC  = $(filter common/% services/%,$(C_SRC))

# The build fails when a source uses a result that is not in result.def.
$(BUILD)/.results: scripts/results common/core/base/result.def $(filter common/% services/%,$(C_FILES))
	@scripts/results
	@mkdir -p $(@D); touch $@

.PHONY: lint fmt fmt-check headers layers names statements sizes shell compile_commands readme
lint: ## All static checks: format, layers, names, statements, sizes, headers, clang-tidy, shellcheck
	@scripts/setup build lint
	@$(MAKE) --no-print-directory -k -j$(shell nproc) fmt-check layers names words statements sizes headers shell tidy
	@echo "lint: clean"
fmt: ## Format the C files
	@clang-format -i $(C_FILES)
fmt-check: ## Fail when a C file is not formatted
	@clang-format --dry-run --Werror $(C_FILES)
layers: ## Fail on an include that common/layers.txt does not allow
	@scripts/layers
words: ## Fail on words that a new reader would have to read twice, on public functions without a comment, and on stale names in comments
	@scripts/words
names: ## Fail on a name that is defined twice, or a function that is not defined in the source of its header
	@scripts/names
statements: ## Fail on positional parameters for a statement of a .sql file, and on statements that are not used
	@scripts/statements
sizes: ## Fail on a file over 800 lines
	@scripts/sizes
shell:
	@shellcheck -x -S warning $(shell grep -lE '^#!.*\b(ba)?sh$$' scripts/* deploy/healthcheck .ci/run)

# Each header must compile alone. A source that includes a header first proves this, so only the other headers are compiled here,
# except the conf_*.h headers that are included in the middle of another header to expand a .def file.
FIRST_INCLUDES := $(shell grep -hm1 '^\#include' $(TIDY_SRC) | sed -n 's/^\#include "\(.*\)"/\1/p')
HEADERS := $(filter-out $(foreach f,$(LEVELS) $(SERVICES:%=services/%),$(FIRST_INCLUDES:%=$(f)/%)) \
             $(patsubst %,common/core/conf/conf_%.h,members end table struct items), $(filter common/%.h services/%.h,$(C_FILES)))
headers: $(patsubst %,$(BUILD)/headers/%.ok,$(HEADERS)) ## Fail on a header that does not compile alone
$(BUILD)/headers/%.h.ok: %.h $(FLAGS_STAMP) | $(SQL_HEADERS) $(GEN)/migrations.h $(GEN)/currencies.h
	@mkdir -p $(@D)
	@$(CC) $(CPPFLAGS) $(if $(filter services/%,$<),-Iservices/$(word 2,$(subst /, ,$<)) $(PROGRAM_CPPFLAGS)) $(CFLAGS) -fsyntax-only -MMD -MP -MT $@ -MF $(@:.ok=.d) -include $< -x c /dev/null
	@touch $@

# clang-tidy checks a folder again when one of its sources was recompiled: one call for all sources of a folder takes a third of the
# time of a call for each. It leaves warnings to the compiler (-Wno-error). clang's analyzer takes four fifths of the time of all
# checks, so `make lint` leaves the analyzer out. `make check-long` runs the analyzer, which gives up on a function after TIDY_STATES
# (75000) states.
TIDY_STATES ?= 0
TIDY_FLAGS  := --extra-arg=-Wno-error $(if $(filter 0,$(TIDY_STATES)),--checks=-clang-analyzer-*,\
               $(foreach f,-Xclang -analyzer-config -Xclang max-nodes=$(TIDY_STATES),--extra-arg=$(f)))
TIDY_DONE   := $(BUILD)/tidy/$(TIDY_STATES)
.PHONY: tidy
define tidy_rule
tidy: $$(TIDY_DONE)/$(1)ok
$$(TIDY_DONE)/$(1)ok: $$(call objs,$$(filter $$(wildcard $(1)*.c),$$(TIDY_SRC))) .clang-tidy | $$(BUILD)/compile_commands.json
	@mkdir -p $$(@D)
	@echo "  TIDY $(1)"
	@clang-tidy --quiet -p $$(BUILD) $$(TIDY_FLAGS) $(1)*.c 2> $$@.log || { cat $$@.log; false; }
	@touch $$@
endef
tidy: ## Run clang-tidy on the folders with files that changed since its last run
$(foreach f,$(sort $(dir $(TIDY_SRC))),$(eval $(call tidy_rule,$(f))))
# With the flags of the release build in each variant, so that clang-tidy also reads the lines that a sanitizer build leaves out.
$(BUILD)/compile_commands.json: $(FLAGS_STAMP) scripts/compile-commands $(C_SRC)
	@scripts/compile-commands '$(CC) $(CPPFLAGS) -isystem /usr/share/include/llhttp $(PROGRAM_CPPFLAGS) $(filter-out $(CFLAGS_$(VARIANT)),$(CFLAGS)) $(CFLAGS_release)' $(C_SRC) > $@
compile_commands: $(BUILD)/compile_commands.json ## Write compile_commands.json for editors
	@cp $< compile_commands.json
.PHONY: documents
documents: ## Write the OpenAPI documents as files: build/documents/platform.json and sample.json
	@scripts/documents
readme: all ## Update the tables of settings in the READMEs of services/
	@scripts/readme-config
