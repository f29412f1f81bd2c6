import type { RuleTester } from 'oxlint/plugins-dev'

type Rule = Extract<Parameters<RuleTester['run']>[1], { create: unknown }>
type Visitor = ReturnType<Rule['create']>
type Expression = Parameters<NonNullable<Visitor['IfStatement']>>[0]['test']
type Call = Parameters<NonNullable<Visitor['CallExpression']>>[0]
type Operand = Expression | Call['arguments'][number] | { type: 'PrivateIdentifier'; range: [number, number] }

/** Sentences for people. Their words may change, so no decision may depend on them. */
const sentences =
  /^(status_message|failure_reason|selection_reason|statusMessage|failureReason|selectionReason)$/
/** Objects with such a `message`. Not errors: some libraries distinguish errors only by their text. */
const carriers = /^(deployment|event|step|observation|engine|seen|state|last)$/i
const comparisons: ReadonlySet<string> = new Set(['===', '!==', '==', '!=', '<', '<=', '>', '>='])
const textMethods = new Set(['includes', 'startsWith', 'endsWith', 'match', 'matchAll', 'search', 'indexOf'])
const lookups = new Set(['includes', 'indexOf', 'has', 'get', 'test', 'exec'])

/** Reports conditions that depend on the sentences of deployments, events and engine states. */
export const messageConditionsRule: Rule = {
  create(context) {
    const report = (node: { range: [number, number] }, name: string) =>
      context.report({
        node,
        message: `\`${name}\` is a sentence for people. Decide by a typed value instead, such as \`waiting_for\`.`,
      })
    const check = (...nodes: (Operand | null)[]) => {
      for (const node of nodes) {
        if (node === null) continue
        const name = findSentence(node)
        if (name !== null) report(node, name)
      }
    }
    return {
      BinaryExpression: ({ operator, left, right }) => {
        if (comparisons.has(operator)) check(left, right)
      },
      LogicalExpression: ({ operator, left }) => {
        if (operator !== '??') check(left)
      },
      UnaryExpression: ({ operator, argument }) => {
        if (operator === '!') check(argument)
      },
      SwitchStatement: ({ discriminant }) => check(discriminant),
      SwitchCase: ({ test }) => check(test),
      IfStatement: ({ test }) => check(test),
      ConditionalExpression: ({ test }) => check(test),
      WhileStatement: ({ test }) => check(test),
      CallExpression: ({ callee, arguments: given }) => {
        if (callee.type !== 'MemberExpression') return
        const method = nameProperty(callee)
        if (textMethods.has(method)) check(callee.object)
        if (lookups.has(method)) check(...given)
        const [column] = given
        if (method !== 'where' || column?.type !== 'Literal') return
        if (sentences.test(String(column.value))) report(column, String(column.value))
      },
    }
  },
}

/** The name of the sentence that an expression reads, even trimmed or with a default; null for none. */
function findSentence(node: Operand): string | null {
  switch (node.type) {
    case 'Identifier':
      return sentences.test(node.name) ? node.name : null
    case 'ChainExpression':
    case 'TSAsExpression':
    case 'TSNonNullExpression':
      return findSentence(node.expression)
    case 'LogicalExpression':
      return findSentence(node.left) ?? findSentence(node.right)
    case 'CallExpression': {
      const { callee } = node
      // The methods that compare are reported themselves.
      const isRead = callee.type === 'MemberExpression' && !textMethods.has(nameProperty(callee))
      return isRead ? findSentence(callee.object) : null
    }
    case 'MemberExpression': {
      const property = nameProperty(node)
      if (sentences.test(property)) return property
      return property === 'message' && carriers.test(nameObject(node.object)) ? property : null
    }
    default:
      return null
  }
}

type Member = Extract<Expression, { type: 'MemberExpression' }>

/** The property of `object.property` and `object['property']`, otherwise an empty text. */
function nameProperty({ property }: Member): string {
  if (property.type === 'Identifier') return property.name
  return property.type === 'Literal' ? String(property.value) : ''
}

/** The last name of `name` and `this.name`, otherwise an empty text. */
function nameObject(node: Expression): string {
  switch (node.type) {
    case 'Identifier':
      return node.name
    case 'MemberExpression':
      return nameProperty(node)
    case 'ChainExpression':
    case 'TSNonNullExpression':
      return nameObject(node.expression)
    default:
      return ''
  }
}
