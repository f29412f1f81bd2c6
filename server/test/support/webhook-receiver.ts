import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'
import { expect } from 'vitest'

export interface ReceivedAlert {
  id: string
  headers: Record<string, string>
  body: string
}

/** A receiver of webhooks on the loopback interface. */
export interface WebhookReceiver {
  url: string
  /** Every request so far */
  received: ReceivedAlert[]
  /** Answers of the next requests; the others are 204 */
  answers: ((request: IncomingMessage, response: ServerResponse) => void)[]
  /** Waits for the alerts of a type, and checks the signature with the published verifier. */
  waitForAlerts(type: string, secret: string, count?: number): Promise<any[]>
  close(): Promise<void>
}

export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const received: ReceivedAlert[] = []
  const answers: WebhookReceiver['answers'] = []
  const server = createServer((request, response) => {
    const receive = async () => {
      const body = await text(request)
      const headers = request.headers as Record<string, string>
      received.push({ id: headers['webhook-id'] ?? '', headers, body })
      const answer = answers.shift() ?? ((_, reply) => void reply.writeHead(204).end())
      answer(request, response)
    }
    void receive()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/berth?channel=alerts`,
    received,
    answers,
    async waitForAlerts(type, secret, count = 1) {
      const own = () => received.filter(({ body }) => JSON.parse(body).type === type)
      await expect.poll(() => own().length).toBeGreaterThanOrEqual(count)
      return own().map(({ body, headers }) => new Webhook(secret).verify(body, headers))
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
