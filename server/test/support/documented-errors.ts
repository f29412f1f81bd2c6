import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { errorCodes } from '../../src/base/error-codes.ts'
import { protocols } from '../../src/features/inference/protocols/protocols.ts'
import { codesOfAnyRoute } from '../../src/http/openapi/error-responses.ts'
import { listOperations } from './operations.ts'

/** The codes that openapi.json lists for an operation, by status. */
interface DocumentedErrors {
  method: string
  pattern: RegExp
  codes: Map<number, Set<string>>
}

/** Errors of an engine pass through these routes with any status and code. */
const forwardingPaths = new Set<string>(protocols.map(({ path }) => path))

let documented: DocumentedErrors[] | null = null

/**
 * Throws if openapi.json does not list the error of a response. URLs of no operation, and errors of an
 * engine, pass.
 */
export function assertDocumented(method: string, url: string, status: number, body: unknown): void {
  if (status < 400) return
  const { code, error } = (body ?? {}) as { code?: string; error?: { code?: string } }
  const found = code ?? error?.code ?? ''
  if (method === 'HEAD' || codesOfAnyRoute.some((each) => each === found)) return
  // As the client sends it, without dots.
  const path = new URL(`http://localhost${url}`).pathname
  if (forwardingPaths.has(path) && !(found in errorCodes)) return
  documented ??= readDocumentedErrors()
  const operation = documented.find((each) => each.method === method && each.pattern.test(path))
  if (operation === undefined || operation.codes.get(status)?.has(found) === true) return
  throw new Error(`openapi.json lists no ${status} ${found} of ${method} ${path}`)
}

function readDocumentedErrors(): DocumentedErrors[] {
  const document = JSON.parse(readFileSync(resolve(import.meta.dirname, '../../../openapi.json'), 'utf8'))
  return (
    listOperations(document)
      .map(({ method, path, responses }) => ({
        method,
        pattern: new RegExp(`^${path.replaceAll('.', String.raw`\.`).replaceAll(/\{[^}]+\}/g, '[^/]+')}$`),
        codes: new Map(
          Object.entries(responses).map(([status, { description }]) => [
            Number(status),
            new Set(Array.from(description.matchAll(/^- `(\w+)`/gm), ([, code]) => code!)),
          ]),
        ),
      }))
      // A path without parameters wins over one with parameters.
      .toSorted(
        (one, other) =>
          Number(one.pattern.source.includes('[^/]+')) - Number(other.pattern.source.includes('[^/]+')),
      )
  )
}
