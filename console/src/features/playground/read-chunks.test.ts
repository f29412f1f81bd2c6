import { expect, it } from 'vitest'
import { readChunks } from './read-chunks.ts'

const encoder = new TextEncoder()

async function readAll(pieces: (string | Uint8Array)[], failing = false) {
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = pieces.shift()
      if (piece !== undefined) controller.enqueue(typeof piece === 'string' ? encoder.encode(piece) : piece)
      else if (failing) controller.error(new TypeError('network error'))
      else controller.close()
    },
  })
  const chunks = []
  for await (const some of readChunks(body)) chunks.push(...some)
  return chunks
}

it('reads events that are split at any byte, up to [DONE]', async () => {
  const bytes = encoder.encode(
    'data: {"choices":[{"delta":{"content":"é"}}]}\n\n: ping\n\ndata: [DONE]\n\ndata: {"x":1}\n\n',
  )
  const single = Array.from(bytes, (byte) => Uint8Array.of(byte))
  expect(await readAll(single)).toEqual([{ choices: [{ delta: { content: 'é' } }] }])
})

it('throws an error that the engine sends in the stream', async () => {
  const stream = readAll(['data: {"error":{"message":"No memory.","type":"server_error","code":null}}\n\n'])
  await expect(stream).rejects.toMatchObject({ message: 'No memory.', code: 'server_error' })
})

it('throws if the stream ends without [DONE]', async () => {
  await expect(readAll(['data: {}\n\n'])).rejects.toMatchObject({ code: 'broken_off' })
  await expect(readAll(['data: {}\n\n'], true)).rejects.toMatchObject({ code: 'broken_off' })
  await expect(readAll(['data: <html>\n\n'])).rejects.toMatchObject({ code: 'broken_off' })
})
