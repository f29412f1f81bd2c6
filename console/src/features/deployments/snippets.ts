/** What the code of a snippet needs to know. */
export interface SnippetInput {
  /** Where the server is, without a trailing slash */
  origin: string
  /** What a request's `model` names */
  model: string
  email: string
  embedding: boolean
}

export const languages = ['curl', 'python', 'javascript'] as const
export type Language = (typeof languages)[number]

/** Code that signs in and calls a deployment: curl with YOUR_PASSWORD to be put in, the others with BERTH_PASSWORD in the environment. */
export function writeSnippet(language: Language, input: SnippetInput): string {
  return { curl: writeCurl, python: writePython, javascript: writeJavaScript }[language](input)
}

// A JSON text is one of Python and of JavaScript too.
const quote = (value: string) => JSON.stringify(value)
const quoteForShell = (value: string) => `'${value.replaceAll("'", `'\\''`)}'`

function writeCurl({ origin, model, email, embedding }: SnippetInput): string {
  const credentials = `{"email": ${quote(email)}, "password": "YOUR_PASSWORD"}`
  const body = embedding
    ? `{
    "model": ${quote(model)},
    "input": ["a ship", "a harbour"]
  }`
    : `{
    "model": ${quote(model)},
    "messages": [{"role": "user", "content": "Hello!"}],
    "stream": true
  }`
  return `# Sign in once: -c keeps the session's cookie in a file.
curl -c cookies.txt ${origin}/v1/user/signin \\
  -H 'content-type: application/json' \\
  -d ${quoteForShell(credentials)}

# -b sends the cookie along.
curl -N -b cookies.txt ${origin}/v1/${embedding ? 'embeddings' : 'chat/completions'} \\
  -H 'content-type: application/json' \\
  -d ${quoteForShell(body)}`
}

function writePython({ origin, model, email, embedding }: SnippetInput): string {
  const call = embedding
    ? `answer = client.embeddings.create(
    model=${quote(model)},
    input=["a ship", "a harbour"],
)
print([len(item.embedding) for item in answer.data])`
    : `stream = client.chat.completions.create(
    model=${quote(model)},
    messages=[{"role": "user", "content": "Hello!"}],
    stream=True,
)
for chunk in stream:
    print(chunk.choices[0].delta.content or "", end="", flush=True)`
  return `import os

import httpx
from openai import OpenAI

# The session's cookie stays in this client, which makes every request.
session = httpx.Client(timeout=600)
session.post(
    ${quote(`${origin}/v1/user/signin`)},
    json={"email": ${quote(email)}, "password": os.environ["BERTH_PASSWORD"]},
).raise_for_status()

client = OpenAI(base_url=${quote(`${origin}/v1`)}, api_key="unused", http_client=session)
${call}`
}

function writeJavaScript({ origin, model, email, embedding }: SnippetInput): string {
  const call = embedding
    ? `const answer = await client.embeddings.create({
  model: ${quote(model)},
  input: ['a ship', 'a harbour'],
})
console.log(answer.data.map((item) => item.embedding.length))`
    : `const stream = await client.chat.completions.create({
  model: ${quote(model)},
  messages: [{ role: 'user', content: 'Hello!' }],
  stream: true,
})
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '')`
  return `import OpenAI from 'openai'

const signIn = await fetch(${quote(`${origin}/v1/user/signin`)}, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ email: ${quote(email)}, password: process.env.BERTH_PASSWORD }),
})
if (!signIn.ok) throw new Error(await signIn.text())
const cookie = signIn.headers.getSetCookie().map((line) => line.split(';')[0]).join('; ')

const client = new OpenAI({
  baseURL: ${quote(`${origin}/v1`)},
  apiKey: 'unused',
  defaultHeaders: { cookie },
})
${call}`
}
