import type { DeployableModel } from '../../../../server/src/contract.ts'

/** Two commands that sign in and call a model that is deployed. */
export function writeCall({ model_name, model_type }: DeployableModel, email: string): string {
  const json = "-H 'content-type: application/json'"
  const [path, body] =
    model_type === 'embedding'
      ? ['/v1/embeddings', { model: model_name, input: ['a ship', 'a harbour'] }]
      : ['/v1/chat/completions', { model: model_name, messages: [{ role: 'user', content: 'Hello!' }] }]
  return [
    `curl -c jar ${location.origin}/v1/user/signin ${json} \\`,
    `  -d '${quote({ email, password: '…' })}'`,
    `curl -b jar ${location.origin}${path} ${json} \\`,
    `  -d '${quote(body)}'`,
  ].join('\n')
}

/** JSON that may stand between a shell's single quotes. */
function quote(value: unknown): string {
  return JSON.stringify(value).replaceAll("'", String.raw`'\''`)
}
