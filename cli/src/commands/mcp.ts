import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { version } from '../../package.json'
import { connectClient } from '../api/connect.ts'
import type { Context } from '../base/context.ts'
import { addChangingTools, addReadingTools } from './mcp/tools.ts'

/** Serves Berth to agents as tools of the Model Context Protocol on stdio, until stdin ends. */
export async function serveTools({ env }: Context, { readOnly }: { readOnly?: boolean }): Promise<void> {
  const client = await connectClient(env)
  const server = new McpServer({ name: 'berth', title: 'Berth', version })
  addReadingTools(server, client)
  if (!readOnly) addChangingTools(server, client)
  const ended = new Promise<void>((resolve) => process.stdin.once('end', resolve))
  await server.connect(new StdioServerTransport())
  await ended
  await server.close()
}
