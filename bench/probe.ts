import { partialDeepStrictEqual } from 'node:assert'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Rewrites, Running } from './target.ts'
import type { Workload } from './workloads.ts'

/** Sends a request and checks the response. Returns a file to compare with others; a NUL is any byte. */
export async function probe(
  folder: string,
  { name, path, requestBody, answer }: Workload,
  target: string,
  port: number,
  { headers, rewrites }: Running,
): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    // A kept connection would break if another process gets this port later.
    headers: {
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      connection: 'close',
      ...headers,
    },
    body: requestBody,
  })
  const text = await response.text()
  if (response.status !== 200)
    throw new Error(`${target} responded with ${response.status}: ${text.slice(0, 500)}`)
  const { model } = JSON.parse(requestBody) as { model: string }
  const right =
    'whole' in answer
      ? isWholeAnswer(text, { answer: answer.whole, model, rewrites })
      : 'text' in answer
        ? text === answer.text.replaceAll('"model":"engine"', `"model":"${model}"`)
        : isWholeStream(text, { events: answer.events, model, rewrites })
  if (!right) throw new Error(`${target} sent an unexpected response: ${text.slice(0, 500)}`)
  const file = join(folder, `expect-${target}-${name}`)
  // Masked bytes take longer to compare. A caller that is slower reads less often, which spares the target.
  await writeFile(file, rewrites === 'all' ? maskTimes(text) : text)
  return file
}

/** True for the upstream's response with the request's model. Rewriters may add fields and rename it. */
export function isWholeAnswer(
  text: string,
  expected: { answer: string; model: string; rewrites: Rewrites | undefined },
): boolean {
  const answer = JSON.parse(text) as { model: string }
  const wanted = { ...(JSON.parse(expected.answer) as object), model: expected.model }
  if (expected.rewrites === undefined) return isDeepStrictEqual(answer, wanted)
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

interface StreamEvent {
  model: string
  choices: { delta: { content?: string } }[]
}

/**
 * True for a stream with each event once and in order, an end, no usage (not requested), and the request's
 * model in each event unless the target rewrites responses.
 */
function isWholeStream(
  text: string,
  expected: { events: number; model: string; rewrites: Rewrites | undefined },
): boolean {
  const data = text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []))
  if (data.pop() !== '[DONE]' || data.length !== expected.events + 1) return false
  return data
    .map((item) => JSON.parse(item) as StreamEvent)
    .every(({ model, choices }, index) => {
      const content = index === expected.events ? undefined : ` token ${String(index).padStart(3, '0')}`
      return (
        choices[0]?.delta.content === content && (expected.rewrites !== undefined || model === expected.model)
      )
    })
}
