import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { getCompileCacheDir } from 'node:module'
import { join } from 'node:path'
import { getModuleVersion, JinjaTemplateChatWrapper, resolveChatWrapper } from 'node-llama-cpp'
import type { ChatWrapper, LlamaModel } from 'node-llama-cpp'
import type { Log } from '../base/log.ts'

/**
 * Resolves to the wrapper that renders a model's chats. Comparing a template with each that node-llama-cpp
 * has code for takes about half a second, so an empty file beside the compiled code remembers a model whose
 * template equals none.
 */
export async function chooseChatWrapper(model: LlamaModel, path: string, log: Log): Promise<ChatWrapper> {
  const memory = await findMemory(path)
  if (memory !== null && existsSync(memory.file)) {
    log('the chat template equals none with code of its own, as an earlier start found')
    return resolveChatWrapper(model, { type: 'jinjaTemplate' })
  }
  const wrapper = resolveChatWrapper(model)
  if (memory !== null && wrapper instanceof JinjaTemplateChatWrapper) remember(memory)
  return wrapper
}

interface Memory {
  folder: string
  file: string
}

/** Null without a compile cache. */
async function findMemory(path: string): Promise<Memory | null> {
  const cache = getCompileCacheDir()
  if (cache === undefined) return null
  const { size, mtimeMs } = statSync(path)
  const key = JSON.stringify([await getModuleVersion(), path, size, mtimeMs])
  const folder = join(cache, 'own-templates')
  return { folder, file: join(folder, createHash('sha256').update(key).digest('hex')) }
}

function remember({ folder, file }: Memory): void {
  try {
    mkdirSync(folder, { recursive: true })
    writeFileSync(file, '')
  } catch {
    // The next start compares again.
  }
}
