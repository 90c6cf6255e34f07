# What readers and authors do with the book, one word each. `make help` lists the daily ones, `make help-all` all.
# Needs: make, Python 3.11 to 3.13, node 20 or newer. Everything else goes into .venv and theme/node_modules.

.DEFAULT_GOAL := help
VENV := .venv
PYTHON_ENV := $(VENV)/bin/python
INSTALLED := $(VENV)/.installed
NODE_INSTALLED := theme/node_modules/.installed
INSTALL = $(PYTHON_ENV) -m pip --disable-pip-version-check install --quiet \
	--constraint constraints.txt --no-build-isolation $(PIP_ARGS)
# What `make check` runs in addition to `make test`; tests of the repository's own text belong to `make lint`.
CHECKED := check or chapters or book or browser or wheel or attack

# The stamp holds the folder it was made in: an editable install in a moved clone would import the old place.
ifneq ($(shell [ -x $(PYTHON_ENV) ] && cat $(INSTALLED) 2>/dev/null),$(CURDIR))
.PHONY: $(INSTALLED)
endif

# Training frees and takes the same memory all the time; with these settings the C library keeps it (reservoir_lab/__main__.py).
KEEP_MEMORY := GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=1073741824:glibc.malloc.top_pad=67108864

.PHONY: help setup library book read lab notebooks generated test check lint format extra bench records explorables plain class pdf colab publish-to publish release clean help-all
# What `make help` lists.
DAILY := setup book read lab notebooks generated test check lint help-all

help:  ## list what readers and authors do every day
	@awk -F ':.*## ' -v daily=' $(DAILY) ' '/^[a-z-]+:.*## / && index(daily, " " $$1 " ") \
	  {printf "make %-11s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: $(INSTALLED) $(NODE_INSTALLED)  ## install everything into .venv and theme/node_modules (the others do so when needed)

library: $(INSTALLED)  ## install the library and its tools into .venv; needs no node

book: setup  ## render the executed chapters to _build/html
	@$(PYTHON_ENV) theme/build.py

read: setup  ## serve the rendered book and print its address
	@$(PYTHON_ENV) theme/serve.py

lab: $(INSTALLED)  ## open the book in JupyterLab
	@[ "$$(id -u)" != 0 ] || root=--allow-root; \
	$(KEEP_MEMORY) $(PYTHON_ENV) theme/lab.py $$root $(ARGS)

# The Markdown half is the source. A chapter reads shipped data and records alone, so that what is committed can be had
# from a clone. Two at once; ARGS=--check only says what is stale.
notebooks: $(INSTALLED)  ## execute the notebooks that are stale; CHAPTERS=chapters/03-transformer.md executes that one
	@$(KEEP_MEMORY) $(PYTHON_ENV) theme/notebooks.py --jobs 2 $(ARGS) $(CHAPTERS)

# What is derived from the recipes: the digests of their first weights, and the rules by which the bench is judged.
generated: $(INSTALLED)  ## write what is generated from the recipes, after one was added or changed
	@OMP_NUM_THREADS=1 $(PYTHON_ENV) tests/test_same_bits.py
	@$(PYTHON_ENV) -c 'from reservoir_lab.evidence import rules; rules.write()'

# Four processes share the tests, a file at a time, in the order of tests/conftest.py; on two cores, since some of them often
# wait for a browser, a server or a cluster. Torch in each takes a gigabyte or two.
# Plugins that other packages bring along are left out: each process would import them, for seconds.
PLUGINS := -p no:nbval -p no:anyio -p no:typeguard
PYTEST := OMP_NUM_THREADS=1 $(PYTHON_ENV) -m pytest -n 4 --dist loadfile --no-loadscope-reorder $(PLUGINS)

test: setup  ## test the code, and the chapters that were changed, four files at a time; ARGS="-k name" runs some
	@$(PYTEST) -m "changed or not (text or extra or $(CHECKED))" $(ARGS)

check: setup  ## then all the rest: every chapter, page and recipe, the wheel, kills, and what `make extra` runs
	@$(PYTEST) -m "($(CHECKED)) and not extra" $(ARGS)
	@$(MAKE) --no-print-directory extra

lint: $(INSTALLED)  ## check style with ruff, types with mypy, and that the repository holds what it says
	@$(PYTHON_ENV) -m ruff check . && $(PYTHON_ENV) -m ruff format --check . && $(PYTHON_ENV) -m mypy
	@OMP_NUM_THREADS=1 $(PYTHON_ENV) -m pytest $(PLUGINS) -m text $$(grep -l 'mark\.text' tests/test_*.py) $(ARGS)

format: $(INSTALLED)  ## format the code with ruff
	@$(PYTHON_ENV) -m ruff check --fix --quiet . ; $(PYTHON_ENV) -m ruff format .

# The environment borrows the packages of .venv, so that what it adds is all that it adds.
extra: setup  ## run the tests that need the benchmarks' peers, from .venv-extra
	@rm -rf .venv-extra && $(PYTHON_ENV) -m venv .venv-extra
	@$(PYTHON_ENV) -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > $$(echo .venv-extra/lib/python3.*/site-packages)/of-venv.pth
	@.venv-extra/bin/python -m pip --disable-pip-version-check install --quiet \
	  --constraint constraints.txt --no-build-isolation $(PIP_ARGS) --editable '.[peers]'
	@OMP_NUM_THREADS=1 .venv-extra/bin/python -m pytest $(PLUGINS) -m extra $(ARGS)

bench: $(INSTALLED)  ## measure the speeds of appendix A3, on one thread; ARGS="import cell" some, ARGS=--resume the rest
	@OMP_NUM_THREADS=1 $(PYTHON_ENV) -m benchmarks $(ARGS)

records: $(INSTALLED)  ## put the records in $RESERVOIR_RESULTS (by default ./results) or in FROM=folder into data/results
	@$(PYTHON_ENV) -m reservoir_lab records $(FROM)

explorables: setup  ## bundle the explorables' JavaScript, and update the copies that executed notebooks store
	@node theme/kernels.mjs && node theme/bundle.mjs
	@$(PYTHON_ENV) theme/widget_modules.py index.ipynb chapters/*.ipynb

plain: book  ## write the notebooks without MyST, for Colab, VS Code and GitHub, and the wheel, to _build/plain
	@$(PYTHON_ENV) theme/plain.py

class: book  ## write notebooks without solutions for students, and with them for the teacher, to _build/class
	@$(PYTHON_ENV) theme/plain.py --class

pdf: book  ## print the rendered book to _build/book.pdf, with chromium
	@$(PYTHON_ENV) theme/pdf.py

colab: plain  ## run the plain notebooks with the versions that Colab ships, in .venv-colab (half an hour)
	@$(PYTHON_ENV) tests/colab.py .venv-colab $(ARGS)

publish-to: $(INSTALLED)  ## say where the book is published: REPO=owner/name on GitHub, empty for nowhere
	@[ '$(origin REPO)' != undefined ] || { echo "Say where: make publish-to REPO=owner/name, or REPO= for nowhere."; exit 1; }
	@$(PYTHON_ENV) theme/publish.py "$(REPO)"

publish: setup  ## build what the tag of this version publishes and say what would be pushed; ARGS=--push pushes it
	@$(PYTHON_ENV) theme/deploy.py $(ARGS)

release: setup  ## build wheel, source archive and the pages' archive into dist, and check them in a fresh environment
	@$(PYTHON_ENV) theme/release.py $(ARGS)

clean:  ## delete what building and testing left behind (keeps .venv and its variants, results and downloaded data)
	@rm -rf _build build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis
	@find reservoir reservoir_lab reservoir_book tests benchmarks theme chapters -name node_modules -prune -o \
	  \( -name __pycache__ -o -name .ipynb_checkpoints \) -print0 2>/dev/null | xargs -0 rm -rf

help-all:  ## list everything that make can do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

$(INSTALLED): pyproject.toml constraints.txt hatch_build.py
	@fits='import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))'; \
	if ! $(PYTHON_ENV) -c "$$fits" 2>/dev/null; then \
	  for python in $(PYTHON) python3 python3.11 python3.12 python3.13 python; do \
	    if "$$python" -c "$$fits" 2>/dev/null; then found=$$python; break; fi; \
	  done; \
	  [ -n "$$found" ] || { echo "The book needs Python 3.11, 3.12 or 3.13, and none is on the PATH:" \
	    "install one, or name it with 'make PYTHON=/path/to/python'."; exit 1; }; \
	  echo "Making $(VENV) with $$($$found --version) and installing into it: some minutes, once."; \
	  "$$found" -m venv --clear $(VENV) || { rm -rf $(VENV); \
	    echo "$$found could not make a virtual environment (above is why): Debian keeps that in python3-venv."; exit 1; }; \
	fi; \
	$(INSTALL) hatchling setuptools && $(INSTALL) --editable '.[book,test]' || { \
	  echo "pip could not install the book's packages (above is why); run 'make setup' again once that is mended."; exit 1; }
	@mkdir -p $(VENV)/etc/ipython/startup && cp theme/startup.py $(VENV)/etc/ipython/startup/50-book.py
	@echo '$(CURDIR)' > $@

$(NODE_INSTALLED): theme/package.json theme/package-lock.json
	@major=$$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null) || major=0; \
	[ "$$major" -ge 20 ] || { echo "The book's pages need node 20 or newer, and" \
	  "$$([ "$$major" = 0 ] && echo 'there is none on the PATH' || echo "this is node $$major"): install it and try again."; exit 1; }
	@cd theme && npm ci --silent --no-audit --no-fund || { \
	  echo "npm could not install the theme's packages (above is why); run 'make setup' again once that is mended."; exit 1; }
	@touch $@
