-- Joins, grouping, compound and recursive queries, window functions, expressions.
.headers on
.mode column
CREATE TABLE dept(id INTEGER PRIMARY KEY, name TEXT UNIQUE, budget REAL);
CREATE TABLE emp(id INTEGER PRIMARY KEY, name TEXT, dept INT REFERENCES dept(id), salary INT, boss INT, hired TEXT);
INSERT INTO dept VALUES(1,'Research',1000.5),(2,'Sales',500),(3,'Empty',NULL),(4,'Ops',250.25);
INSERT INTO emp VALUES
 (1,'Ada',1,900,NULL,'2001-01-15'),(2,'Bob',1,700,1,'2002-02-20'),(3,'Cyd',2,400,1,'2003-03-25'),
 (4,'Dan',2,450,3,'2004-04-30'),(5,'Eve',NULL,300,3,'2005-05-05'),(6,'Fay',4,650,2,'2006-06-10'),(7,'Gus',4,650,6,'2007-07-15');
SELECT e.name, d.name AS dept, b.name AS boss FROM emp e LEFT JOIN dept d ON d.id=e.dept LEFT JOIN emp b ON b.id=e.boss ORDER BY e.id;
SELECT d.name, count(e.id) n, sum(salary) total, avg(salary) mean, min(hired), max(hired), group_concat(e.name,'/') FROM dept d LEFT JOIN emp e ON e.dept=d.id GROUP BY d.id HAVING n>=0 ORDER BY total DESC NULLS LAST;
SELECT e.name FROM emp e RIGHT JOIN dept d ON d.id=e.dept WHERE d.budget IS NULL OR e.id IS NULL;
SELECT e.name, d.name FROM emp e FULL OUTER JOIN dept d ON d.id=e.dept ORDER BY 1,2;
SELECT a.name, b.name FROM emp a CROSS JOIN emp b WHERE a.id<b.id AND a.salary=b.salary;
SELECT * FROM dept NATURAL JOIN (SELECT 1 AS id, 'x' AS extra UNION ALL SELECT 4,'y');
SELECT name FROM emp WHERE salary > (SELECT avg(salary) FROM emp) AND EXISTS(SELECT 1 FROM emp s WHERE s.boss=emp.id) ORDER BY name;
SELECT name, (SELECT count(*) FROM emp s WHERE s.boss=e.id) AS reports FROM emp e WHERE dept IN (SELECT id FROM dept WHERE budget>300) ORDER BY reports DESC, name;
SELECT 1 UNION SELECT 2 UNION ALL SELECT 2 EXCEPT SELECT 1;
SELECT dept FROM emp INTERSECT SELECT id FROM dept WHERE id>1;
SELECT DISTINCT salary%100 FROM emp ORDER BY 1 LIMIT 3 OFFSET 1;
WITH RECURSIVE chain(id,name,depth,path) AS (
  SELECT id,name,0,name FROM emp WHERE boss IS NULL
  UNION ALL SELECT e.id,e.name,depth+1,path||'>'||e.name FROM emp e JOIN chain c ON e.boss=c.id ORDER BY 3 DESC, 2)
SELECT printf('%.*s%s', depth*2, '          ', name) AS tree, path FROM chain;
WITH RECURSIVE fib(a,b) AS (VALUES(0,1) UNION ALL SELECT b,a+b FROM fib WHERE a<10000) SELECT group_concat(a,' ') AS fibonacci FROM fib;
WITH RECURSIVE
  xaxis(x) AS (VALUES(-2.0) UNION ALL SELECT x+0.1 FROM xaxis WHERE x<1.2),
  yaxis(y) AS (VALUES(-1.0) UNION ALL SELECT y+0.2 FROM yaxis WHERE y<1.0),
  m(iter,cx,cy,x,y) AS (SELECT 0,x,y,0.0,0.0 FROM xaxis,yaxis UNION ALL SELECT iter+1,cx,cy,x*x-y*y+cx,2.0*x*y+cy FROM m WHERE (x*x+y*y)<4.0 AND iter<20),
  m2(iter,cx,cy) AS (SELECT max(iter),cx,cy FROM m GROUP BY cx,cy),
  a(t) AS (SELECT group_concat(substr(' .+*#',1+min(iter/5,4),1),'') FROM m2 GROUP BY cy)
SELECT group_concat(rtrim(t),x'0a') AS mandelbrot FROM a;
WITH RECURSIVE sudoku_digits(z,lp) AS (VALUES('1',1) UNION ALL SELECT CAST(lp+1 AS TEXT),lp+1 FROM sudoku_digits WHERE lp<9),
 input(sud) AS (VALUES('53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79')),
 x(s,ind) AS (SELECT sud,instr(sud,'.') FROM input UNION ALL
  SELECT substr(s,1,ind-1)||z||substr(s,ind+1), instr(substr(s,1,ind-1)||z||substr(s,ind+1),'.') FROM x, sudoku_digits AS z
  WHERE ind>0 AND NOT EXISTS (SELECT 1 FROM sudoku_digits AS lp WHERE z.z=substr(s,((ind-1)/9)*9+lp,1) OR z.z=substr(s,((ind-1)%9)+(lp-1)*9+1,1)
   OR z.z=substr(s,(((ind-1)/3)%3)*3+((ind-1)/27)*27+lp+((lp-1)/3)*6,1)))
SELECT s FROM x WHERE ind=0;
SELECT name, dept, salary, row_number() OVER w rn, rank() OVER w rk, dense_rank() OVER w dr, ntile(3) OVER w nt, percent_rank() OVER w pr, cume_dist() OVER w cd FROM emp WINDOW w AS (ORDER BY salary DESC) ORDER BY rn;
SELECT name, sum(salary) OVER (PARTITION BY dept ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) s, lag(name,1,'-') OVER (ORDER BY id) l, lead(salary) OVER (ORDER BY id) ld, first_value(name) OVER (PARTITION BY dept ORDER BY salary) f, nth_value(name,2) OVER (ORDER BY id) nv FROM emp ORDER BY id;
SELECT id, group_concat(name,',') OVER (ORDER BY id GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW) g, total(salary) FILTER (WHERE salary>400) OVER (ORDER BY id RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING) t FROM emp;
SELECT CASE WHEN salary>600 THEN 'high' WHEN salary>350 THEN 'mid' ELSE 'low' END band, count(*) FROM emp GROUP BY 1 ORDER BY 1;
SELECT coalesce(NULL,5), ifnull(NULL,'x'), nullif(3,3), iif(1>2,'a','b'), 5 BETWEEN 1 AND 10, 'abc' LIKE 'A_C', 'abc' GLOB 'a*', 7 IN (1,7), NULL IS NULL, 1 IS NOT 2, NOT 0;
SELECT 7/2, 7.0/2, -7/2, 7%3, -7%3, 1<<4, 255>>2, 6&3, 6|3, ~5, 9223372036854775807+1, 1e308*10, 5||6, +'12', -'3x', 1/0, '10'+5;
SELECT typeof(1), typeof(1.5), typeof('x'), typeof(x'00'), typeof(NULL), cast('12abc' AS INT), cast(3.99 AS INT), cast(5 AS TEXT)||'!', cast('1e3' AS REAL), hex(cast('az' AS BLOB));
SELECT x'414243' , quote(x'0001ff'), quote('it''s'), quote(NULL), quote(1.5), length('h'||char(233,8364)), unicode('€'), zeroblob(3)=x'000000';
SELECT (1,2,3) < (1,2,4), (SELECT 1,2) = (1,2), (1,NULL) IS (1,NULL), max(3,1,2), min('b','a');
VALUES (1,'one'),(2,'two');
