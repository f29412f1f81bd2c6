import { execFile } from 'node:child_process'
import { open } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A program of the operator: its command line, split at spaces. */
export type Command = readonly [string, ...string[]]

const VERSION_TIMEOUT_MS = 20_000

/** The build of llama.cpp that a `llama-server` is, such as `10964`; null when unknown. */
export async function findLlamaServerVersion([program, ...args]: Command): Promise<string | null> {
  try {
    const { stdout, stderr } = await run(program, [...args, '--version'], { timeout: VERSION_TIMEOUT_MS })
    const text = `${stdout}\n${stderr}`
    return /\(build (\d+)/.exec(text)?.[1] ?? /^version: (\d+) /m.exec(text)?.[1] ?? null
  } catch {
    return null
  }
}

/**
 * The version of vLLM that a command runs, such as `0.28.0`; null when unknown. Asks the Python in the command's first line,
 * because `vllm --version` loads all of vLLM.
 */
export async function findVllmVersion([program]: Command): Promise<string | null> {
  try {
    const python = /^#!(\S*python\S*)/.exec(await readStart(program))?.[1]
    if (python === undefined) return null
    const code = "import importlib.metadata; print(importlib.metadata.version('vllm'))"
    const { stdout } = await run(python, ['-c', code], { timeout: VERSION_TIMEOUT_MS })
    return /^\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? null
  } catch {
    return null
  }
}

async function readStart(path: string): Promise<string> {
  const file = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(512), 0, 512, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}
