// validate.mjs FILE...: validates OpenAPI documents with the reference parser.
import SwaggerParser from '@apidevtools/swagger-parser';

for (const file of process.argv.slice(2)) {
    const document = await SwaggerParser.validate(file);
    console.log(`${file}: ${Object.keys(document.paths).length} paths`);
}
