import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { isMap, isPair, isScalar, isSeq, LineCounter, parseDocument } from 'yaml'
import type { Document } from 'yaml'
import { CommandError, describeFileError } from '../base/errors.ts'
import { fileSchema } from './file-schema.ts'
import type { FileContent } from './file-schema.ts'

/** The way to a value of the file, from its top. */
export type FilePath = readonly PropertyKey[]

/** A file that was read, with the places of its values. */
export interface ReadFile {
  content: FileContent
  /** An error that names the file, the line and the field. */
  fail: (path: FilePath, message: string) => CommandError
}

const longestFile = 2 ** 20

/** Reads a file, or stdin for `-`. Throws an error with all its mistakes. */
export async function readApplyFile(path: string): Promise<ReadFile> {
  const name = path === '-' ? 'stdin' : path
  let source
  try {
    source = path === '-' ? await text(process.stdin) : await readFile(path, 'utf8')
  } catch (error) {
    throw new CommandError(`${path} can't be read: ${describeFileError(error)}.`)
  }
  if (source.length > longestFile) throw new CommandError(`${name} has more than 1 MiB.`)
  return parseApplyFile(name, source)
}

/** Parses and checks the text of a file. */
export function parseApplyFile(name: string, source: string): ReadFile {
  const lines = new LineCounter()
  const document = parseDocument(source, { lineCounter: lines, prettyErrors: false })
  const at = (offset: number) => `${name}:${lines.linePos(offset).line}`
  const mistakes = [...document.errors, ...document.warnings]
  if (mistakes.length > 0)
    throw new CommandError(mistakes.map(({ pos, message }) => `${at(pos[0])}: ${message}`).join('\n'))
  const describe = (path: FilePath, message: string) =>
    [at(findOffset(document, path)), path.map(String).join('.'), message]
      .filter((part) => part !== '')
      .join(': ')
  const result = fileSchema.safeParse(toValue(document, name))
  if (result.success) {
    return { content: result.data, fail: (path, message) => new CommandError(describe(path, message)) }
  }
  const messages = result.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => describe([...issue.path, key], 'There is no such field.'))
      : [describe(issue.path, toSentence(issue.message))],
  )
  throw new CommandError(messages.join('\n'))
}

function toValue(document: Document, name: string): unknown {
  try {
    return document.toJS()
  } catch (error) {
    // Aliases that expand to too much
    throw new CommandError(`${name}: ${(error as Error).message}`)
  }
}

/** Where a value starts, or the innermost one around it that exists. */
function findOffset(document: Document, path: FilePath): number {
  let node: unknown = document.contents
  let offset = 0
  for (const step of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step))
      if (!isPair(pair)) break
      offset = isScalar(pair.key) ? (pair.key.range?.[0] ?? offset) : offset
      node = pair.value
    } else if (isSeq(node)) {
      node = node.items[Number(step)]
      offset = (node as { range?: [number, number, number] } | undefined)?.range?.[0] ?? offset
    } else break
  }
  return offset
}

const toSentence = (message: string) => (/[.!?]$/.test(message) ? message : `${message}.`)
