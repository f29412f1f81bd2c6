// A small file of its own, beside the rest: what the first view asks for is under way while the code is still coming.

// Unit tests have no page.
const hasSession = 'document' in globalThis && document.documentElement.dataset.session !== 'none'
const paths = hasSession ? ['/v1/auth/session', '/v1/organization'] : []
const answers = new Map(paths.map((path) => [path, fetch(path)]))
// Whoever takes it sees its failure.
for (const answer of answers.values()) answer.catch(() => {})

/** The answer to a GET that was begun with the page, once. */
export function takeEarlyAnswer(path: string): Promise<Response> | undefined {
  const answer = answers.get(path)
  answers.delete(path)
  return answer
}

/** Forgets what was not taken for the first view: later it would be out of date. */
export function dropEarlyAnswers() {
  answers.clear()
}
