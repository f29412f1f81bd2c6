import { relative } from 'node:path'
import { checkImport } from './check-import.ts'
import { messageConditionsRule } from './message-conditions.ts'

interface Source {
  value: unknown
}

/** Reports imports, type imports included, that cross a border of `layers.ts`. */
const layersRule = {
  create(context: {
    cwd: string
    filename: string
    report(problem: { node: unknown; message: string }): void
  }) {
    const importer = relative(context.cwd, context.filename).replaceAll('\\', '/')
    const check = ({ source }: { source?: Source | null }) => {
      if (typeof source?.value !== 'string') return
      const message = checkImport(importer, source.value)
      if (message !== null) context.report({ node: source, message })
    }
    return {
      ImportDeclaration: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      ImportExpression: check,
      TSImportType: check,
    }
  },
}

export default {
  meta: { name: 'berth' },
  rules: { layers: layersRule, 'message-conditions': messageConditionsRule },
}
