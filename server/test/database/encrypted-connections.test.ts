import { execFileSync } from 'node:child_process'
import { chownSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { checkEnvironment } from '../../src/process/startup-checks.ts'
import { createScratch, query, serviceAccount, start } from './scratch.ts'

const hasOpenssl = (() => {
  try {
    return execFileSync('openssl', ['version']).length > 0
  } catch {
    return false
  }
})()

/** Writes a key and a certificate for localhost, which signs itself. */
function createCertificate(folder: string) {
  const [key, certificate] = [join(folder, 'server.key'), join(folder, 'server.pem')]
  execFileSync(
    'openssl',
    `req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout ${key} -out ${certificate}`.split(
      ' ',
    ),
    { stdio: 'ignore' },
  )
  if (serviceAccount !== undefined) chownSync(key, serviceAccount.uid, serviceAccount.gid)
  return { key, certificate }
}

test.skipIf(!hasOpenssl)(
  'the error of an encrypted connection names sslmode and sslrootcert (skipped without openssl)',
  async () => {
    const folder = await createScratch()
    const { key, certificate } = createCertificate(folder)
    expect(readFileSync(certificate, 'utf8')).toContain('CERTIFICATE')
    const plain = await start(join(folder, 'plain'))
    onTestFinished(() => plain.stop())
    const encrypted = await start(join(folder, 'encrypted'), {
      settings: { fsync: 'off', ssl: 'on', ssl_key_file: key, ssl_cert_file: certificate },
    })
    onTestFinished(() => encrypted.stop())
    const check = async (database: string, parameters: string) => {
      const url = new URL(database)
      url.hostname = 'localhost'
      const settings = {
        DATA_DIR: join(folder, 'data'),
        PORT: '0',
        DATABASE_URL: `${url.href}?${parameters}`,
      }
      return checkEnvironment(readConfig(settings)).then(
        () => 'connected',
        (error: Error) => error.message,
      )
    }
    const trusted = `sslmode=verify-full&sslrootcert=${certificate}`
    expect(await check(encrypted.url, trusted)).toBe('connected')
    expect(await check(encrypted.url, 'sslmode=verify-full')).toMatch(
      /certificate of PostgreSQL .* is not trusted .*sslmode=verify-full.*sslrootcert=/,
    )
    expect(await check(plain.url, 'sslmode=verify-full')).toMatch(/has no encryption .*sslmode=disable/)
    expect(await check(encrypted.url, 'sslmode=verify-full&sslrootcert=/nope')).toMatch(
      /\/nope can't be read \(ENOENT\); correct sslrootcert/,
    )
    expect(await query(encrypted.url, 'SELECT 1')).toHaveLength(1)
  },
)
