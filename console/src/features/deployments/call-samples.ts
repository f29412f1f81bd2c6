import { writeSample } from '../../domain/models/code-samples.ts'
import { writeFirstBody } from '../../domain/models/curl-sample.ts'
import type { SampleRequest } from '../../domain/models/curl-sample.ts'

const chatSamples = ['curl', 'python', 'javascript', 'anthropic', 'berth', 'env'] as const
export type CallSample = (typeof chatSamples)[number]

/** The samples for a kind of model, the first one by default. */
export function listCallSamples(kind: SampleRequest['kind']): readonly CallSample[] {
  if (kind === 'chat') return chatSamples
  return chatSamples.filter((one) => one !== 'anthropic' && (one !== 'berth' || kind === 'embeddings'))
}

interface Call {
  kind: SampleRequest['kind']
  /** The server's origin */
  origin: string
  model: string
}

/** Writes a program, a command, or the variables with which clients find the model. */
export function writeCallSample(sample: CallSample, { kind, origin, model }: Call): string {
  switch (sample) {
    case 'anthropic':
      return writeAnthropic(origin, model)
    case 'berth':
      return kind === 'embeddings' ? `berth embed ${model} 'a ship'` : `berth chat ${model} 'Hello!'`
    case 'env':
      return [
        `OPENAI_BASE_URL="${origin}/v1"`,
        'OPENAI_API_KEY="unused"',
        `OPENAI_MODEL="${model}"`,
        'BERTH_COOKIE=""',
      ].join('\n')
    default:
      return writeSample(sample, { kind, origin, body: writeFirstBody(model, kind) })
  }
}

function writeAnthropic(origin: string, model: string): string {
  return `import os

from anthropic import Anthropic

client = Anthropic(
    base_url=${JSON.stringify(origin)},
    api_key="unused",
    default_headers={"cookie": os.environ["BERTH_COOKIE"]},
)
message = client.messages.create(
    model=${JSON.stringify(model)},
    max_tokens=1024,
    messages=[{"role": "user", "content": "Hello!"}],
)
print("".join(block.text for block in message.content if block.type == "text"))`
}
