// validate.mjs FILE...: the reference parser's opinion of OpenAPI documents.
import SwaggerParser from '@apidevtools/swagger-parser';

for (const file of process.argv.slice(2)) {
    const document = await SwaggerParser.validate(file);
    console.log(`${file}: ${Object.keys(document.paths).length} paths`);
}
