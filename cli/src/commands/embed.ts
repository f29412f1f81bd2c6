import { connectClient } from '../api/connect.ts'
import type { Context } from '../base/context.ts'
import { usageError } from '../base/errors.ts'
import { readPipe } from '../base/pipe.ts'
import { explainType } from './model-type.ts'

/** Texts of one request */
const batchSize = 64

/** Prints the embedding of a text, or of each line. */
export async function embed(
  { env, output }: Context,
  model: string,
  text: string | undefined,
  { lines }: { lines?: boolean },
): Promise<void> {
  const client = await connectClient(env)
  const content = text ?? (await readPipe((note) => output.note(note)))
  const texts = lines ? (content ?? '').split(/\r?\n/).filter((line) => line !== '') : [content ?? '']
  if (texts.every((each) => each === '')) throw usageError('There is no text. Pass one, or pipe one.')
  const embeddings: { index: number; embedding: unknown }[] = []
  while (embeddings.length < texts.length) {
    const start = embeddings.length
    const body = { model, input: texts.slice(start, start + batchSize) }
    const { data } = await client
      .call('POST', '/v1/embeddings', { body })
      .catch((error: unknown) => explainType(client, model, 'embedding', error))
    for (const { embedding } of data) {
      if (!output.json) output.line(JSON.stringify(embedding))
      embeddings.push({ index: embeddings.length, embedding })
    }
  }
  output.result(embeddings, () => {})
}
