package main

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

type kind = descriptorpb.FieldDescriptorProto_Type

const (
	bytesType   = descriptorpb.FieldDescriptorProto_TYPE_BYTES
	enumType    = descriptorpb.FieldDescriptorProto_TYPE_ENUM
	int64Type   = descriptorpb.FieldDescriptorProto_TYPE_INT64
	messageType = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	stringType  = descriptorpb.FieldDescriptorProto_TYPE_STRING
	uint64Type  = descriptorpb.FieldDescriptorProto_TYPE_UINT64
)

func field(number int32, name string, of kind) *descriptorpb.FieldDescriptorProto {
	return &descriptorpb.FieldDescriptorProto{
		Name: proto.String(name), JsonName: proto.String(name), Number: proto.Int32(number), Type: of.Enum(),
		Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
}

func fieldOf(number int32, name string, of kind, typeName string) *descriptorpb.FieldDescriptorProto {
	out := field(number, name, of)
	out.TypeName = proto.String(typeName)
	return out
}

func entrySchema() *descriptorpb.DescriptorProto {
	metadata := fieldOf(5, "metadata", messageType, ".schema.Entry.MetadataEntry")
	metadata.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	value := func(number int32, name string) *descriptorpb.EnumValueDescriptorProto {
		return &descriptorpb.EnumValueDescriptorProto{Name: proto.String(name), Number: proto.Int32(number)}
	}
	return &descriptorpb.DescriptorProto{
		Name: proto.String("Entry"),
		Field: []*descriptorpb.FieldDescriptorProto{
			field(1, "address", stringType),
			fieldOf(2, "last_modified", messageType, ".google.protobuf.Timestamp"),
			field(3, "size", int64Type),
			field(4, "e_tag", stringType),
			metadata,
			fieldOf(6, "address_type", enumType, ".schema.Entry.AddressType"),
			field(7, "content_type", stringType),
		},
		NestedType: []*descriptorpb.DescriptorProto{{
			Name:    proto.String("MetadataEntry"),
			Field:   []*descriptorpb.FieldDescriptorProto{field(1, "key", stringType), field(2, "value", stringType)},
			Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)},
		}},
		EnumType: []*descriptorpb.EnumDescriptorProto{{
			Name: proto.String("AddressType"),
			Value: []*descriptorpb.EnumValueDescriptorProto{
				value(0, "BY_PREFIX_DEPRECATED"), value(1, "RELATIVE"), value(2, "FULL")},
		}},
	}
}

func rangeSchema() *descriptorpb.DescriptorProto {
	return &descriptorpb.DescriptorProto{
		Name: proto.String("RangeData"),
		Field: []*descriptorpb.FieldDescriptorProto{
			field(1, "min_key", bytesType), field(2, "max_key", bytesType),
			field(3, "estimated_size", uint64Type), field(4, "count", int64Type)},
	}
}

var schema = func() protoreflect.FileDescriptor {
	_ = timestamppb.File_google_protobuf_timestamp_proto
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("schema.proto"), Package: proto.String("schema"), Syntax: proto.String("proto3"),
		Dependency:  []string{"google/protobuf/timestamp.proto"},
		MessageType: []*descriptorpb.DescriptorProto{entrySchema(), rangeSchema()},
	}, protoregistry.GlobalFiles)
	if err != nil {
		panic(err)
	}
	return file
}()

// schemaOf is the message in values of a table of this type.
func schemaOf(table string) protoreflect.MessageDescriptor {
	if table == "metaranges" {
		return schema.Messages().ByName("RangeData")
	}
	return schema.Messages().ByName("Entry")
}
