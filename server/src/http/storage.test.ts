import { tmpdir } from 'node:os'
import Fastify from 'fastify'
import type { FastifyBaseLogger } from 'fastify'
import { expect, test } from 'vitest'
import { createLog } from '../base/log.ts'
import { sendProblem } from './errors.ts'
import { watchStorage } from './storage.ts'

test.each([
  ['53100', undefined, 'PostgreSQL’s disk is full'],
  ['ENOSPC', '/data/mail/1.eml', 'the disk of /data/mail/1.eml is full'],
  ['EDQUOT', undefined, `the disk of DATA_DIR (${tmpdir()}) is full`],
])(
  'an error %s is a 503 storage_full, is logged with the disk, and is remembered',
  async (code, path, message) => {
    const lines: string[] = []
    const loggerInstance: FastifyBaseLogger = createLog({ level: 'error' }, (line) => void lines.push(line))
    const app = Fastify({ loggerInstance })
    watchStorage(app, tmpdir())
    app.setErrorHandler(sendProblem)
    app.get('/', () => {
      throw Object.assign(new Error('no space'), { code, path })
    })
    expect(await app.storage.isFull()).toBe(false)
    const response = await app.inject('/')
    expect([response.statusCode, response.headers['retry-after']]).toEqual([503, '60'])
    expect(response.json()).toMatchObject({ code: 'storage_full', title: 'Service Unavailable' })
    expect(lines.join('')).toContain(message)
    expect(await app.storage.isFull()).toBe(true)
  },
)
