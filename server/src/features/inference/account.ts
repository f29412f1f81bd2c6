import type { Exchange } from './exchange.ts'

/** One line, without a word of what was asked or answered. */
export function logExchange(exchange: Exchange): void {
  const { side, target, usage, firstByteAt, receivedAt } = exchange
  side.request.log.info(
    {
      method: 'POST',
      route: exchange.path,
      status: exchange.sentStatus(),
      ms: Math.round(performance.now() - receivedAt),
      first_byte_ms: firstByteAt > 0 ? Math.round(firstByteAt - receivedAt) : null,
      user: exchange.userId,
      deployment: target?.deploymentId ?? null,
      model: exchange.targets[0]!.modelName,
      stream: exchange.asked.stream,
      input_tokens: usage?.inputTokens ?? null,
      output_tokens: usage?.outputTokens ?? null,
      broken_by: exchange.brokenBy,
    },
    'request',
  )
}
