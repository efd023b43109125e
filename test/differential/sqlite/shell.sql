-- The shell itself: output modes, import and export, parameters, dumps, expert commands that touch no time.
CREATE TABLE t(a INTEGER, b TEXT, c REAL, d BLOB);
INSERT INTO t VALUES(1,'plain',1.5,x'00ff'),(2,'quo"te, comma',-2.25,NULL),(3,'new
line',1e100,x''),(NULL,'<tag> & ''apos''',0.1,x'616263');
.headers on
.mode csv
SELECT * FROM t;
.mode tabs
SELECT a,b,c FROM t;
.mode html
SELECT a,b FROM t;
.mode insert newtable
SELECT * FROM t;
.mode line
SELECT * FROM t;
.mode json
SELECT a,b,c FROM t;
.mode markdown
SELECT a,c FROM t;
.mode table
SELECT a,c FROM t;
.mode box
SELECT a,c FROM t;
.mode quote
SELECT * FROM t;
.mode tcl
SELECT a,b FROM t;
.mode ascii
SELECT a FROM t;
.mode column
.width 5 10 -8
SELECT a,b,c FROM t WHERE a<3;
.width auto
.mode list
.separator | \n
.nullvalue (null)
SELECT * FROM t WHERE d IS NULL OR a IS NULL;
.output exported.csv
.mode csv
.headers off
SELECT a, c FROM t WHERE a NOT NULL;
.output
.mode csv
.import exported.csv imported
.mode list
SELECT * FROM imported;
.mode csv
CREATE TABLE typed(x INT, y REAL);
.import exported.csv typed
.mode list
SELECT typeof(x), typeof(y), x+y FROM typed;
.parameter set @p 42
.parameter set $q "'text'"
SELECT @p + 1, $q || '!', ?1 IS NULL;
.parameter list
.dump t
.schema
.indexes
.tables
.databases
.print a literal line
.echo on
SELECT 1;
.echo off
.changes on
UPDATE t SET c=0 WHERE a=1;
.changes off
.bail off
SELECT broken(;
SELECT 'still running';
.eqp on
SELECT a FROM t WHERE a=1;
.eqp off
.once once.txt
SELECT 'to a file';
.shell cat once.txt
.stats off
.limit length
.selftest --init
.sha3sum
SELECT hex(sha3('abc',256));
SELECT * FROM generate_series(5,1,-2);
SELECT decimal_add('1.1','2.22'), decimal_mul('3.3','4'), decimal_cmp('1.10','1.1');
SELECT regexp('^a.c$','abc'), 'abc' REGEXP 'b+', 'xyz' REGEXP '[a-c]';
SELECT ieee754(2.5), ieee754_mantissa(2.5), ieee754_exponent(2.5);
.mode csv
.once wide.csv
WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i<1000) SELECT i, i*i, 'r'||i FROM n;
.import wide.csv wide
SELECT count(*) FROM wide;
.excel_is_not_a_command
.quit
