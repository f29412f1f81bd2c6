import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { crc32 } from 'node:zlib'
import { onTestFinished } from 'vitest'
import { listen } from '../support/listen.ts'

/** Makes a zip file whose entries are stored. */
export function makeZip(files: Readonly<Record<string, string | Buffer>>): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [name, content] of Object.entries(files)) {
    const data = Buffer.from(content)
    const fields = Buffer.alloc(26)
    fields.writeUInt16LE(20, 0)
    fields.writeUInt32LE(crc32(data), 10)
    fields.writeUInt32LE(data.length, 14)
    fields.writeUInt32LE(data.length, 18)
    fields.writeUInt16LE(Buffer.byteLength(name), 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), fields, Buffer.from(name), data])
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE(offset, 10)
    directory.push(
      Buffer.concat([Buffer.from('PK\x01\x02\x14\x00', 'latin1'), fields, tail, Buffer.from(name)]),
    )
    parts.push(local)
    offset += local.length
  }
  const entries = Buffer.concat(directory)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(directory.length, 4)
  end.writeUInt16LE(directory.length, 6)
  end.writeUInt32LE(entries.length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...parts, entries, Buffer.from('PK\x05\x06', 'latin1'), end])
}

/** What a package of the index is like. */
export interface TestPackage {
  name: string
  version: string
  /** Files besides the metadata */
  files?: Record<string, string | Buffer>
  /** The tags of its wheel; default any machine */
  tags?: string
  /** The version that its program tells; default its own */
  told?: string
  /** What each of its extras requires */
  extras?: Record<string, string>
}

/** Makes a wheel with a program of the same name. */
export function makeWheel({ name, version, files = {}, told = version, extras = {} }: TestPackage): Buffer {
  const metadata = [
    'Metadata-Version: 2.1',
    `Name: ${name}`,
    `Version: ${told}`,
    ...Object.entries(extras).flatMap(([extra, required]) => [
      `Provides-Extra: ${extra}`,
      `Requires-Dist: ${required}; extra == '${extra}'`,
    ]),
  ]
  const module = name.replaceAll(/[-.]/g, '_')
  const info = `${module}-${version}.dist-info`
  const all: Record<string, string | Buffer> = {
    [`${module}/__init__.py`]: `def main():\n    print('${told}')\n`,
    ...files,
    [`${info}/METADATA`]: `${metadata.join('\n')}\n`,
    [`${info}/WHEEL`]: 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    [`${info}/entry_points.txt`]: `[console_scripts]\n${name} = ${module}:main\n`,
  }
  const hashOf = (data: string | Buffer) => createHash('sha256').update(data).digest('base64url')
  const record = Object.entries(all).map(
    ([path, data]) => `${path},sha256=${hashOf(data)},${Buffer.byteLength(data)}`,
  )
  return makeZip({ ...all, [`${info}/RECORD`]: [...record, `${info}/RECORD,,`].join('\n') })
}

/** An index of packages on this host. */
export interface PackageIndex {
  url: string
  /** The requested paths */
  requests: string[]
}

/** Serves packages as PyPI does, until the end of the test. `damaged` changes their bytes after the hash. */
export async function startPackageIndex(
  packages: readonly TestPackage[],
  { html = false, damaged = false } = {},
): Promise<PackageIndex> {
  const requests: string[] = []
  const wheels = packages.map((each) => {
    const filename = `${each.name.replaceAll(/[-.]/g, '_')}-${each.version}-${each.tags ?? 'py3-none-any'}.whl`
    const bytes = makeWheel(each)
    return { name: each.name, filename, bytes, sha256: createHash('sha256').update(bytes).digest('hex') }
  })
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    requests.push(path)
    const wheel = wheels.find(({ filename }) => path === `/files/${filename}`)
    if (wheel !== undefined)
      return response.end(damaged ? Buffer.concat([wheel.bytes, Buffer.from('x')]) : wheel.bytes)
    const name = /^\/simple\/([^/]+)\/$/.exec(path)?.[1]
    const found = wheels.filter((each) => each.name === name)
    if (found.length === 0) return response.writeHead(404).end()
    if (html || request.headers.accept?.includes('json') !== true) {
      const links = found.map(
        ({ filename, sha256 }) => `<a href="/files/${filename}#sha256=${sha256}">${filename}</a>`,
      )
      return response.writeHead(200, { 'content-type': 'text/html' }).end(links.join('\n'))
    }
    const files = found.map(({ filename, sha256 }) => ({
      filename,
      url: `../../files/${filename}`,
      hashes: { sha256 },
    }))
    response.writeHead(200, { 'content-type': 'application/vnd.pypi.simple.v1+json' })
    response.end(JSON.stringify({ meta: { 'api-version': '1.0' }, name, files }))
  })
  const port = await listen(server)
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { url: `http://127.0.0.1:${port}/simple/`, requests }
}
