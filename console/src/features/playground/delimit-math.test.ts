import { expect, it } from 'vitest'
import { delimitMath } from './delimit-math.ts'

it.each([
  [String.raw`So \(a^2\) and $b_1$ hold.`, 'So $$a^2$$ and $$b_1$$ hold.'],
  ['\\[\nx = 1\n\\]', '$$\nx = 1\n$$'],
  ['1. Then:\n   $$y = 2$$\n2. Done.', '1. Then:\n   $$\n   y = 2\n   $$\n2. Done.'],
  [String.raw`It is \[z\] here.`, String.raw`It is $$\displaystyle z$$ here.`],
  ['Use `$x$` for $x$.', 'Use `$x$` for $$x$$.'],
])('rewrites the math of %j', (source, expected) => {
  expect(delimitMath(source)).toBe(expected)
})

it.each([
  'It costs $5 and $10.',
  'From $5-$10 or US$5/C$6.',
  'Run `echo $A $B$` now.',
  '```sh\necho $A$B \\(x\\)\n```',
  '~~~\n\\[unfinished code\\]',
  String.raw`A literal \\(x\\) and \$x\$.`,
  'An open \\( parenthesis',
])('finds no math in %j', (source) => {
  expect(delimitMath(source)).toBeNull()
})
