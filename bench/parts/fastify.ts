// Fastify alone: reads the body as bytes and responds directly. Arguments: port, response file.
import { readFileSync } from 'node:fs'
import Fastify from 'fastify'

const [, , port, file = ''] = process.argv
const body = readFileSync(file)

const app = Fastify()
app.removeAllContentTypeParsers()
app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, bytes, done) =>
  done(null, bytes),
)
app.post('/v1/chat/completions', (_request, reply) => reply.type('application/json').send(body))
await app.listen({ host: '127.0.0.1', port: Number(port) })
