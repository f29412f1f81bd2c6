import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** A commit that changes more lines than this explains itself in a body. */
const obviousLines = 150
const maxSubject = 72

/** Imperatives that look like another form of a verb. */
const imperatives =
  /^(?:access|address|bypass|compress|cross|discuss|dismiss|embed|feed|focus|guess|need|pass|press|process|shed|speed|stress|bring|ping|string|spring)$/

/** The faults of a commit message. `changedLines` is the sum of added and removed lines. */
export function checkCommitMessage(message: string, changedLines: number): string[] {
  const [subject = '', separator = '', ...body] = message.trimEnd().split('\n')
  const [, verb = ''] = /^[\w.,/ -]+: (\w+)/.exec(subject) ?? []
  return [
    ...(subject.length > maxSubject
      ? [`The subject has ${subject.length} characters; the limit is ${maxSubject}.`]
      : []),
    ...(verb === ''
      ? ['The subject starts with the place, as in `deployments: retry after a lost instance`.']
      : []),
    ...(/(?:ed|ing|s)$/.test(verb) && !imperatives.test(verb.toLowerCase())
      ? [`The subject is an imperative: not "${verb}".`]
      : []),
    ...(subject.endsWith('.') ? ['The subject has no full stop.'] : []),
    ...(separator.trim() === '' ? [] : ['An empty line separates the subject from the body.']),
    ...(changedLines > obviousLines && body.join('').trim() === ''
      ? [`A change of ${changedLines} lines needs a body that says why.`]
      : []),
  ]
}

/** Sums the lines of `git … --numstat`, without generated files. */
export function countChangedLines(numstat: string): number {
  return numstat
    .split('\n')
    .map((line) => line.split('\t'))
    .filter(([, , path = '']) => path !== '' && !/package-lock\.json|openapi\.json|generated|=>/.test(path))
    .reduce((sum, [added, removed]) => sum + (Number(added) || 0) + (Number(removed) || 0), 0)
}

if (import.meta.main) {
  const message = readFileSync(process.argv[2]!, 'utf8').replaceAll(/^#.*\n/gm, '')
  const numstat = execFileSync('git', ['diff', '--cached', '--numstat'], { encoding: 'utf8' })
  const problems = checkCommitMessage(message, countChangedLines(numstat))
  if (problems.length > 0) {
    console.error(problems.join('\n'))
    process.exitCode = 1
  }
}
