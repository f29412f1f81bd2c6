import { partialDeepStrictEqual } from 'node:assert'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Running } from './target.ts'
import type { Workload } from './workloads.ts'

/**
 * Sends one request and checks the meaning of the response. Returns a file with its bytes, which every later response must equal; a NUL
 * stands for any byte.
 */
export async function probe(
  folder: string,
  { name, path, requestBody, answer }: Workload,
  target: string,
  port: number,
  { headers, rewrites = false }: Running,
): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'accept-encoding': 'identity', ...headers },
    body: requestBody,
  })
  const text = await response.text()
  if (response.status !== 200)
    throw new Error(`${target} responded with ${response.status}: ${text.slice(0, 500)}`)
  const right =
    'whole' in answer ? isWholeAnswer(text, answer.whole, rewrites) : isWholeStream(text, answer.events)
  if (!right) throw new Error(`${target} sent an unexpected response: ${text.slice(0, 500)}`)
  const file = join(folder, `expect-${target}-${name}`)
  await writeFile(file, rewrites ? maskTimes(text) : text)
  return file
}

/** True for the upstream's answer. A target that rewrites answers may add fields and name the model itself. */
export function isWholeAnswer(text: string, expected: string, rewrites: boolean): boolean {
  const answer = JSON.parse(text) as { model: string }
  const wanted = JSON.parse(expected) as { model: string }
  if (!rewrites) return isDeepStrictEqual(answer, wanted)
  try {
    partialDeepStrictEqual(answer, { ...wanted, model: answer.model })
    return true
  } catch {
    return false
  }
}

/** Replaces the times of a response by as many NULs. */
export function maskTimes(text: string): string {
  return text.replaceAll(/(?<="created":)\d+/g, (digits) => '\0'.repeat(digits.length))
}

/** True for a stream with every event once and in order, an end, and no usage, because the request did not ask for it. */
function isWholeStream(text: string, events: number): boolean {
  const data = text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []))
  if (data.pop() !== '[DONE]' || data.length !== events + 1) return false
  return data
    .map((item) => JSON.parse(item) as { choices: { delta: { content?: string } }[] })
    .every(({ choices }, index) => {
      const expected = index === events ? undefined : ` token ${String(index).padStart(3, '0')}`
      return choices[0]?.delta.content === expected
    })
}
