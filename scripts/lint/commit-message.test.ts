import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { checkCommitMessage, countChangedLines } from './commit-message.ts'

test.each([
  ['deployments: retry after a lost instance', 20],
  ['http: compress long answers', 20],
  ['database, jobs: pass the timeout', 20],
  ['deployments: retry after a lost instance\n\nA worker lost it.', 2000],
])('%j is fine', (message, changedLines) => {
  expect(checkCommitMessage(message, changedLines)).toEqual([])
})

test.each([
  ['Retry after a lost instance', 20, 'starts with the place'],
  ['deployments: retries after a lost instance', 20, 'not "retries"'],
  ['deployments: retried after a lost instance', 20, 'not "retried"'],
  ['deployments: retrying after a lost instance', 20, 'not "retrying"'],
  ['deployments: retry.', 20, 'no full stop'],
  [`deployments: retry ${'often '.repeat(12)}`, 20, 'characters'],
  ['deployments: retry\nafter a lost instance', 20, 'empty line'],
  ['deployments: retry after a lost instance', 2000, 'needs a body'],
])('%j with %i lines is refused', (message, changedLines, problem) => {
  expect(checkCommitMessage(message, changedLines).join('\n')).toContain(problem)
})

test('the commits since this check keep its rules', () => {
  const git = (...command: string[]) =>
    execFileSync('git', command, { cwd: import.meta.dirname, encoding: 'utf8', maxBuffer: 2 ** 26 })
  const [first = ''] = git('log', '--diff-filter=A', '--format=%H', '--', import.meta.filename).split('\n')
  const log =
    first === ''
      ? ''
      : git('log', '--no-merges', '--numstat', '-M', '--format=%x00%H%x01%B%x01', `${first}..HEAD`)
  const problems = log
    .split('\0')
    .slice(1)
    .map((entry) => {
      const [commit, message = '', numstat = ''] = entry.split('\u0001')
      return { commit, problems: checkCommitMessage(message, countChangedLines(numstat)) }
    })
  expect(problems.filter((each) => each.problems.length > 0)).toEqual([])
})
