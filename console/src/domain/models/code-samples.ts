import { samplePaths, writeCurl } from './curl-sample.ts'
import type { SampleRequest } from './curl-sample.ts'
import { layOut, writeJson } from './write-json.ts'

export const sampleLanguages = ['curl', 'python', 'javascript'] as const
export type SampleLanguage = (typeof sampleLanguages)[number]

/** Writes a program that sends the request with the session in BERTH_COOKIE. */
export function writeSample(language: SampleLanguage, request: SampleRequest): string {
  return { curl: writeCurl, python: writePython, javascript: writeJavaScript }[language](request)
}

/** Parameters of OpenAI's Python client; other fields go into `extra_body`. */
const pythonNames = new Set(
  (
    'model messages input stream stream_options temperature top_p max_tokens seed stop tools tool_choice ' +
    'parallel_tool_calls response_format frequency_penalty presence_penalty logprobs top_logprobs logit_bias'
  ).split(' '),
)

function writePython({ kind, origin, body }: SampleRequest): string {
  const members = Object.entries(kind === 'rerank' ? {} : body)
  const extra = Object.fromEntries(members.filter(([name]) => !pythonNames.has(name)))
  const named = members.filter(([name]) => pythonNames.has(name))
  if (Object.keys(extra).length > 0) named.push(['extra_body', extra])
  const sent = named.map(([name, value]) => `    ${name}=${toPython(value, 1)},\n`).join('')
  const uses = {
    chat: `stream = client.chat.completions.create(\n${sent})
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)`,
    embeddings: `response = client.embeddings.create(\n${sent})
for item in response.data:
    print(item.index, item.embedding[:4])`,
    rerank: `response = client.post("${samplePaths.rerank}", cast_to=object, body=${toPython(body)})
for result in response["results"]:
    print(result["index"], result["relevance_score"])`,
  }
  return `import os

from openai import OpenAI

client = OpenAI(
    base_url=${JSON.stringify(`${origin}/v1`)},
    api_key="unused",
    default_headers={"cookie": os.environ["BERTH_COOKIE"]},
)
${uses[kind]}`
}

function writeJavaScript({ kind, origin, body }: SampleRequest): string {
  const sent = toJavaScript(body)
  const uses = {
    chat: `const stream = await openai.chat.completions.create(${sent})
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '')`,
    embeddings: `const response = await openai.embeddings.create(${sent})
for (const { index, embedding } of response.data) console.log(index, embedding.slice(0, 4))`,
    rerank: `const response = await openai.post('${samplePaths.rerank}', { body: ${sent} })
for (const { index, relevance_score } of response.results) console.log(index, relevance_score)`,
  }
  return `// Save as sample.mjs.
import OpenAI from 'openai'

const openai = new OpenAI({
  baseURL: ${toJavaScript(`${origin}/v1`)},
  apiKey: 'unused',
  defaultHeaders: { cookie: process.env.BERTH_COOKIE },
})
${uses[kind]}`
}

/** Writes a JSON value as a Python literal. JSON strings are valid Python strings. */
const toPython = (value: unknown, depth = 0) =>
  writeJson(value, { depth, indent: '    ', write: toPythonWord })

function toPythonWord(value: unknown): string {
  if (value === null || value === undefined) return 'None'
  return typeof value === 'boolean' ? (value ? 'True' : 'False') : JSON.stringify(value)
}

/** Writes a JSON value as a JavaScript literal with single quotes and unquoted keys where possible. */
function toJavaScript(value: unknown, depth = 0): string {
  if (typeof value === 'string') {
    const inner = JSON.stringify(value)
      .slice(1, -1)
      .replaceAll(String.raw`\"`, '"')
      .replaceAll("'", String.raw`\'`)
    return `'${inner}'`
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) {
    return layOut(
      value.map((item) => toJavaScript(item, depth + 1)),
      ['[', ']'],
      depth,
      '  ',
    )
  }
  const parts = Object.entries(value).map(([name, item]) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : toJavaScript(name)
    return `${key}: ${toJavaScript(item, depth + 1)}`
  })
  return layOut(parts, ['{', '}'], depth, '  ', ' ')
}
