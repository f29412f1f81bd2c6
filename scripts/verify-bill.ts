// Recomputes the proof of a bill without a server: `node scripts/verify-bill.ts FILE`. docs/proof.md has the format and the rules.
import { readFileSync } from 'node:fs'
import { verifyProof } from './bill/verify.ts'

const [path] = process.argv.slice(2)
if (path === undefined) {
  process.stderr.write('Usage: node scripts/verify-bill.ts FILE\n')
  process.exit(2)
}

let content: unknown
try {
  content = JSON.parse(readFileSync(path, 'utf8'))
} catch (error) {
  process.stderr.write(`${path} can't be read as JSON: ${(error as Error).message}\n`)
  process.exit(1)
}

const verdict = verifyProof(content)
if (verdict.difference !== null) {
  process.stderr.write(`The proof differs: ${verdict.difference}\n`)
  process.exit(1)
}

const { proof, lines } = verdict
const print = (line: string) => process.stdout.write(`${line}\n`)
print(
  `${proof.hours.length} sealed hours from ${proof.from} to ${proof.to} agree with spans, tokens and prices.`,
)
for (const { meter, dimensions, quantity, unit, amount } of proof.lines) {
  const name = [meter, ...Object.values(dimensions)].join(' ')
  print(`  ${name}: ${quantity} ${unit}s, ${amount} ${proof.currency}`)
}
const last = proof.hours.at(-1)
if (last) print(`Last hash: ${last.hash} (hour ${last.sequence})`)
if (proof.invoice) print(`Invoice ${proof.invoice.id} at the payment processor:`)
for (const line of lines) {
  print(
    `  ${line.name} at ${line.price}: ${line.amount} exact, ${line.processorAmount} charged for ${line.processorQuantity} units, ` +
      `rounding ${line.difference}`,
  )
}
